import { z } from 'zod';
import { toIso } from '../../kit/clock.ts';
import { wrongField } from '../../kit/errors.ts';
import { time, usd } from '../answer-fields.ts';
import { seesAllKeys } from '../keys/key-answer.ts';
import { opaque, unlisted } from '../schema-marks.ts';
import { privateAnswer } from '../answer.ts';
import type { Services } from '../call.ts';
import { formatUsd } from '../../kit/money.ts';
import type { JobStatus, KeySum, TagSum, UsageSums } from '../../store/store.ts';
import { readOperation } from '../define-operation.ts';

const dayMs = 86_400_000;
const defaultSpanMs = 30 * dayMs;

const dateTime = z.iso.datetime({ offset: true });
const date = z.iso.date();

/**
 * A point in time as a parameter, read into epoch milliseconds: ISO 8601 with a zone, or a date for its midnight in UTC.
 * A `+` that was not percent-encoded in a query arrives as a space, and is read as `+`.
 */
export const instant = z
  .string()
  .max(64)
  .transform((text, context) => {
    const written = text.replace(/(?<=T.*) (?=\d{2}:\d{2}$)/, '+');
    const isInstant = dateTime.safeParse(written).success || date.safeParse(written).success;
    if (isInstant) return Date.parse(written);
    context.addIssue('must be an ISO 8601 date-time with its zone, such as 2026-01-31T12:00:00Z');
    return z.NEVER;
  })
  .meta({ format: 'date-time' });

export const usageFields = {
  from: instant.optional().describe('Inclusive. Default: 30 days before now.'),
  to: instant.optional().describe('Exclusive. Default: now.'),
};

const totals = {
  jobs: opaque(
    z.looseObject({ total: z.int(), queued: z.int(), running: z.int(), done: z.int(), failed: z.int() }),
  ),
  charged_usd: usd,
  refunded_usd: usd,
  net_spent_usd: usd,
};

export const usageOutput = z.looseObject({
  from: time,
  to: time,
  currency: z.literal('USD'),
  ...totals,
  by_model: z.array(z.looseObject({ model: z.string(), ...totals })),
  by_kind: z.array(z.looseObject({ kind: z.string(), ...totals })),
  by_day: z.array(z.looseObject({ day: z.string().describe('YYYY-MM-DD in UTC.'), ...totals })),
  ...unlisted({
    by_key: z
      .array(z.looseObject({ key_id: z.string().nullable(), label: z.string(), ...totals }))
      .describe('The 100 keys that spent most; the rest in one row without an id.'),
    by_tag: z
      .array(z.looseObject({ tag: z.string().nullable(), ...totals }))
      .describe('By X-Usage-Tag, or the tag of the key. Null: without one. Empty: there are no tags.'),
  }),
});

const exampleTotals = {
  jobs: { total: 3, queued: 0, running: 1, done: 1, failed: 1 },
  charged_usd: '0.04',
  refunded_usd: '0.00',
  net_spent_usd: '0.04',
};

export const usageExample = {
  parameters: { from: '2026-10-21T09:30:00Z', to: '2026-11-20T09:30:00Z' },
  answer: {
    from: '2026-10-21T09:30:00.000Z',
    to: '2026-11-20T09:30:00.000Z',
    currency: 'USD' as const,
    ...exampleTotals,
    by_model: [{ model: 'imagemodel-1.0', ...exampleTotals }],
    by_kind: [{ kind: 'image', ...exampleTotals }],
    by_day: [{ day: '2026-11-20', ...exampleTotals }],
    by_key: [{ key_id: 'b5c9f1de-0d0f-4c5e-9a3b-6f1f3f0c2a71', label: 'shop', ...exampleTotals }],
    by_tag: [{ tag: 'newsletter', ...exampleTotals }],
  },
};

/** Completes a period by the defaults. Throws AppError `invalid_range`. */
export const readSpan = (
  asked: { from?: number; to?: number },
  now: number,
): { from: number; to: number } => {
  const { from = now - defaultSpanMs, to = now } = asked;
  if (from < to) return { from, to };
  throw wrongField('invalid_range', 'from', `from: must be earlier than to, which is ${toIso(to)}.`);
};

/** Sums up the usage of an account. `onlyKey`: all other keys are one sum. Throws AppError `invalid_range`. */
export const usageOf = async (
  asked: { from?: number; to?: number },
  accountId: string,
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  onlyKey: string | null = null,
) => {
  const { from, to } = readSpan(asked, clock.now());
  const sums = await store.sumUsage({ accountId, from, to });
  const keys = sums.keys.map((sum) =>
    onlyKey === null || sum.keyId === onlyKey ? sum : { ...sum, keyId: '', label: otherKeys },
  );
  return { from: toIso(from), to: toIso(to), currency: 'USD' as const, ...totalUsage({ ...sums, keys }) };
};

export const getUsage = readOperation({
  name: 'get_usage',
  title: 'Sum up usage',
  description:
    'The number of jobs of this account in a time and their cost, in all and by model, kind, day, key and tag. Free.',
  input: z.object(usageFields),
  output: usageOutput,
  path: '/v1/usage',
  query: ['from', 'to'],
  errors: ['invalid_range'],
  docs: {
    answer: 'Usage',
    examples: [{ summary: 'The last 30 days', ...usageExample }],
    wrong: { from: 'x' },
  },
  handle: async (asked, { caller }, services: Pick<Services, 'store' | 'clock'>) =>
    privateAnswer(
      await usageOf(asked, caller.accountId, services, seesAllKeys(caller) ? null : caller.keyId),
    ),
});

const otherKeys = 'other keys';

/** The keys that an answer names. The rest of an account with more is one sum. */
const maxKeys = 100;

/** Adds up usage: in total, and by model, kind, day, key and tag (docs/contract.md, "Usage, history, receipts"). */
export const totalUsage = ({ groups, keys, tags }: UsageSums) => ({
  ...sumUp(groups),
  by_model: groupBy(groups, ({ model }) => model).map(([model, group]) => ({ model, ...sumUp(group) })),
  by_kind: groupBy(groups, ({ kind }) => kind).map(([kind, group]) => ({ kind, ...sumUp(group) })),
  by_day: groupBy(groups, ({ day }) => toIso(day * dayMs).slice(0, 'YYYY-MM-DD'.length)).map(
    ([day, group]) => ({ day, ...sumUp(group) }),
  ),
  by_key: sumKeys(keys),
  by_tag: sumTags(tags),
});

const sumKeys = (sums: readonly KeySum[]) => {
  // The most spent comes first.
  const byKey = groupBy(sums, ({ keyId }) => keyId).sort(([, one], [, other]) =>
    Number(spent(other) - spent(one)),
  );
  const rest = byKey.slice(maxKeys).flatMap(([, group]) => group);
  return [
    ...byKey
      .slice(0, maxKeys)
      .map(([keyId, group]) => ({ key_id: keyId || null, label: group[0]?.label ?? '', ...sumUp(group) })),
    ...(rest.length === 0 ? [] : [{ key_id: null, label: otherKeys, ...sumUp(rest) }]),
  ];
};

/** Empty for an account without tags. */
const sumTags = (sums: readonly TagSum[]) =>
  sums.some(({ tag }) => tag !== '')
    ? groupBy(sums, ({ tag }) => tag).map(([tag, group]) => ({ tag: tag || null, ...sumUp(group) }))
    : [];

const spent = (sums: readonly KeySum[]): bigint =>
  sums.reduce((total, { charged, refunded }) => total + charged - refunded, 0n);

/** Returns one group per key, ordered by key. */
const groupBy = <Sum>(sums: readonly Sum[], keyOf: (sum: Sum) => string): [string, Sum[]][] =>
  [...Map.groupBy(sums, keyOf)].sort(([a], [b]) => (a < b ? -1 : 1));

const sumUp = (sums: readonly Omit<TagSum, 'tag'>[]) => {
  const charged = sums.reduce((total, sum) => total + sum.charged, 0n);
  const refunded = sums.reduce((total, sum) => total + sum.refunded, 0n);
  const jobsIn = (status: JobStatus): number =>
    sums.reduce((total, sum) => total + (sum.status === status ? sum.jobs : 0), 0);
  return {
    jobs: {
      total: sums.reduce((total, sum) => total + sum.jobs, 0),
      queued: jobsIn('queued'),
      running: jobsIn('running'),
      done: jobsIn('done'),
      failed: jobsIn('failed'),
    },
    charged_usd: formatUsd(charged),
    refunded_usd: formatUsd(refunded),
    net_spent_usd: formatUsd(charged - refunded),
  };
};
