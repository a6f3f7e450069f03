import { z } from 'zod';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import { AppError } from '../../kit/errors.ts';
import { formatUsd, type Nano } from '../../kit/money.ts';
import type { UsedKey } from '../../store/store.ts';
import { time, usd } from '../answer-fields.ts';
import type { Services } from '../call.ts';
import type { ErrorText } from '../operation-docs.ts';
import { budgetsOf } from '../../rules/key-limits.ts';
import type { Caller } from '../../accounts/authenticate.ts';

const used = usd.nullable();

export const keyMembers = {
  id: z.string(),
  object: z.literal('key'),
  label: z.string(),
  display: z.string().describe('The first and last characters of the key.'),
  created_by: z
    .string()
    .nullable()
    .describe('`operator`, `wallet` for a sign-in, or the id of the key that made it.'),
  created_at: time,
  expires_at: time.nullable(),
  revoked_at: time.nullable(),
  last_used_at: time.nullable().describe('To the minute, and shown a minute later. Null: never.'),
  models: z
    .array(z.string())
    .nullable()
    .describe('Null: all of the account, or none if the key has `tools`.'),
  tools: z.array(z.string()).nullable().describe('Null: all, or none if the key has `models`.'),
  budget_day_usd: usd.nullable(),
  budget_month_usd: usd.nullable(),
  budget_total_usd: usd.nullable(),
  alert_url: z.string().nullable(),
  usage_tag: z.string().nullable(),
  day_spent_usd: used.describe(
    'Charges of the calls of this UTC day since the key has a budget; refunds do not lower it. Null without a budget.',
  ),
  day_held_usd: used.describe('Held for running jobs.'),
  month_spent_usd: used.describe('As day_spent_usd, of this UTC month.'),
  month_held_usd: used,
  total_spent_usd: used.describe('As day_spent_usd, of all calls since the key has a budget.'),
  total_held_usd: used,
};

export const keySchema = z.looseObject(keyMembers);
export const newKeySchema = z.looseObject({
  key: z.string().describe('The whole key. It is shown only now.'),
  ...keyMembers,
});

/** A key as its account and operators see it. */
export type KeyAnswer = z.output<z.ZodObject<typeof keyMembers>>;

export const usdOrNull = (amount: Nano | null): string | null => (amount === null ? null : formatUsd(amount));

export const toKeyAnswer = (key: UsedKey): KeyAnswer => {
  const isBudgeted = budgetsOf(key).length > 0;
  const used = (amount: Nano): string | null => (isBudgeted ? formatUsd(amount) : null);
  return {
    id: key.id,
    object: 'key',
    label: key.label,
    display: key.display,
    created_by: key.madeBy,
    created_at: toIso(key.createdAt),
    expires_at: isoOrNull(key.expiresAt),
    revoked_at: isoOrNull(key.revokedAt),
    last_used_at: isoOrNull(key.lastUsedAt),
    models: key.models,
    tools: key.tools,
    budget_day_usd: usdOrNull(key.budgetDay),
    budget_month_usd: usdOrNull(key.budgetMonth),
    budget_total_usd: usdOrNull(key.budgetTotal),
    alert_url: key.alertUrl,
    usage_tag: key.usageTag,
    day_spent_usd: used(key.daySpent),
    day_held_usd: used(key.dayHeld),
    month_spent_usd: used(key.monthSpent),
    month_held_usd: used(key.monthHeld),
    total_spent_usd: used(key.totalSpent),
    total_held_usd: used(key.totalHeld),
  };
};

/** Throws AppError `permission_denied` if the caller's key has limits. `act`: what it cannot do. */
export const assertUnlimited = ({ limits }: Caller, act: string): void => {
  if (limits !== null)
    throw new AppError(
      'permission_denied',
      `This API key has limits, so it cannot ${act}. Use a key without limits.`,
    );
};

/** Whether a caller may see the other keys of its account. One with limits, or an assistant, may be a third party. */
export const seesAllKeys = ({ limits, scopes }: Caller): boolean => limits === null && scopes === undefined;

/** Throws AppError `permission_denied` if the caller's key has limits: it could make a key without them. */
export const assertManagesKeys = (caller: Caller): void => assertUnlimited(caller, 'manage keys');

/** Throws AppError `permission_denied` if the caller's key may not make and change keys: such a key could outlive it. */
export const assertMakesKeys = (caller: Caller): void => {
  assertManagesKeys(caller);
  if (caller.isSignedIn === true)
    throw new AppError(
      'permission_denied',
      'A key from a sign-in makes and changes no keys. Sign in again for another one.',
    );
};

const noSuchKey = 'key_id: this account has no such key. See GET /v1/keys.';

/** Reads a key of the account as it is now. Throws AppError `not_found`. */
export const findOwnKey = async (
  id: string,
  { accountId }: Caller,
  { store, clock }: Pick<Services, 'store' | 'clock'>,
): Promise<KeyAnswer> => {
  const key = await store.getKey({ id: id.toLowerCase(), accountId, now: clock.now() });
  if (key === null) throw new AppError('not_found', noSuchKey, { param: 'key_id' });
  return toKeyAnswer(key);
};

export const keyErrors: { not_found: ErrorText } = {
  not_found: { when: 'The account has no such key.', message: noSuchKey, param: 'key_id' },
};

export const exampleKeyId = '019ab1c2-3d4e-7f60-8a9b-0c1d2e3f4a5b';

export const exampleKey: KeyAnswer = {
  id: exampleKeyId,
  object: 'key',
  label: 'nightly reports',
  display: 'sk_causeway_AbCd…wxyz',
  created_by: '019ab0aa-1b2c-7d3e-8f40-5a6b7c8d9e0f',
  created_at: '2026-11-20T09:30:00.000Z',
  expires_at: '2027-01-31T00:00:00.000Z',
  revoked_at: null,
  last_used_at: '2026-11-20T17:45:00.000Z',
  models: ['textmodel-3.5-flash'],
  tools: null,
  budget_day_usd: '5.00',
  budget_month_usd: '100.00',
  budget_total_usd: '400.00',
  alert_url: 'https://shop.example.com/hooks/causeway',
  usage_tag: null,
  day_spent_usd: '1.25',
  day_held_usd: '0.02',
  month_spent_usd: '31.70',
  month_held_usd: '0.02',
  total_spent_usd: '112.40',
  total_held_usd: '0.02',
};
