import { z } from 'zod';
import { AppError, wrongField } from '../../kit/errors.ts';
import { formatUsd } from '../../kit/money.ts';
import type { UsedKey } from '../../store/store.ts';
import { timeOf, timeOrNullOf, usd, usdOrNullOf } from '../answer-fields.ts';
import type { Services } from '../call.ts';
import type { ErrorText } from '../operation-docs.ts';
import { defineView } from '../view.ts';
import { budgetsOf } from '../../rules/key-limits.ts';
import type { Caller } from '../../accounts/authenticate.ts';

export const exampleKeyId = '019ab1c2-3d4e-7f60-8a9b-0c1d2e3f4a5b';

type Used = 'daySpent' | 'dayHeld' | 'monthSpent' | 'monthHeld' | 'totalSpent' | 'totalHeld';

/** What a key has used of its budgets; of its own calls, only those since it has one are counted. */
const used = (name: Used, example: string) =>
  [
    usd.nullable(),
    (key: UsedKey) => (budgetsOf(key).length > 0 ? formatUsd(key[name]) : null),
    example,
  ] as const;

/** A key as its account and operators see it. */
export const keyView = defineView<UsedKey>({
  display: 'The first and last characters of the key.',
  created_by: '`operator`, `wallet` for a sign-in, or the id of the key that made it.',
  last_used_at: 'To the minute, and shown a minute later. Null: never.',
  models: 'Null: all of the account, or none if the key has `tools`.',
  tools: 'Null: all, or none if the key has `models`.',
  day_spent_usd:
    'Charges of this UTC day: of the calls since the key has a budget, and of all calls of its connections. Refunds do not lower it. Null without a budget.',
  day_held_usd: 'Held for running jobs.',
  month_spent_usd: 'As day_spent_usd, of this UTC month.',
  total_spent_usd: 'As day_spent_usd, in all.',
})({
  id: [z.string(), 'id', exampleKeyId],
  object: [z.literal('key'), () => 'key' as const, 'key'],
  label: [z.string(), 'label', 'nightly reports'],
  display: [z.string(), 'display', 'sk_causeway_AbCd…wxyz'],
  created_by: [z.string().nullable(), 'madeBy', '019ab0aa-1b2c-7d3e-8f40-5a6b7c8d9e0f'],
  created_at: timeOf('createdAt', '2026-11-20T09:30:00.000Z'),
  expires_at: timeOrNullOf('expiresAt', '2027-01-31T00:00:00.000Z'),
  revoked_at: timeOrNullOf('revokedAt', null),
  last_used_at: timeOrNullOf('lastUsedAt', '2026-11-20T17:45:00.000Z'),
  models: [z.array(z.string()).nullable(), 'models', ['textmodel-3.5-flash']],
  tools: [z.array(z.string()).nullable(), 'tools', null],
  budget_day_usd: usdOrNullOf('budgetDay', '5.00'),
  budget_month_usd: usdOrNullOf('budgetMonth', '100.00'),
  budget_total_usd: usdOrNullOf('budgetTotal', '400.00'),
  alert_url: [z.string().nullable(), 'alertUrl', 'https://shop.example.com/hooks/causeway'],
  usage_tag: [z.string().nullable(), 'usageTag', null],
  day_spent_usd: used('daySpent', '1.25'),
  day_held_usd: used('dayHeld', '0.02'),
  month_spent_usd: used('monthSpent', '31.70'),
  month_held_usd: used('monthHeld', '0.02'),
  total_spent_usd: used('totalSpent', '112.40'),
  total_held_usd: used('totalHeld', '0.02'),
});

export type KeyAnswer = typeof keyView.example;

export const keySchema = z.looseObject(keyView.schema.shape);

export const newKeySchema = z.looseObject({
  key: z.string().describe('The whole key. It is shown only now.'),
  ...keyView.schema.shape,
});

/** Throws AppError `permission_denied` if the caller's key has limits. `act`: what it cannot do. */
export const assertUnlimited = ({ limits }: Caller, act: string): void => {
  if (limits !== null)
    throw new AppError(
      'permission_denied',
      `This API key has limits, so it cannot ${act}. Use a key without limits.`,
    );
};

/** Whether a caller may see the other keys of its account. One with limits, as each assistant has, may be a third party. */
export const seesAllKeys = ({ limits }: Caller): boolean => limits === null;

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
  if (key === null) throw wrongField('not_found', 'key_id', noSuchKey);
  return keyView.show(key);
};

export const keyErrors: { not_found: ErrorText } = {
  not_found: { when: 'The account has no such key.', message: noSuchKey, param: 'key_id' },
};
