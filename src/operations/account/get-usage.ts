import { z } from 'zod';
import { toIso } from '../../kit/clock.ts';
import { AppError } from '../../kit/errors.ts';
import { time, usd } from '../answer-fields.ts';
import { opaque } from '../schema-marks.ts';
import { jsonAnswer } from '../answer.ts';
import type { Services } from '../call.ts';
import { formatUsd } from '../../kit/money.ts';
import type { JobStatus, UsageSum } from '../../store/store.ts';
import { readOperation } from '../define-operation.ts';

const defaultSpanMs = 30 * 86_400_000;

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
    context.addIssue({
      code: 'custom',
      message: 'must be an ISO 8601 date-time with its zone, such as 2026-01-31T12:00:00Z',
    });
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
  },
};

/** Sums up the usage of an account. Throws AppError `invalid_range`. */
export const usageOf = async (
  asked: { from?: number; to?: number },
  accountId: string,
  { store, clock }: Pick<Services, 'store' | 'clock'>,
) => {
  const now = clock.now();
  const { from = now - defaultSpanMs, to = now } = asked;
  if (from >= to)
    throw new AppError('invalid_range', `from: must be earlier than to, which is ${toIso(to)}.`, {
      param: 'from',
    });
  const sums = await store.sumUsage({ accountId, from, to });
  return { from: toIso(from), to: toIso(to), currency: 'USD' as const, ...totalUsage(sums) };
};

export const getUsage = readOperation({
  name: 'get_usage',
  title: 'Sum up usage',
  description:
    'How many jobs this account created in a time and what they cost, in all and by model, kind and day. Free.',
  input: z.object(usageFields),
  output: usageOutput,
  path: '/v1/usage',
  query: ['from', 'to'],
  errors: ['invalid_range'],
  docs: {
    answer: 'Usage',
    examples: [
      {
        summary: 'The last 30 days',
        ...usageExample,
        status: 200,
      },
    ],
    wrong: { from: 'x' },
  },
  handle: async (asked, { caller }, services: Pick<Services, 'store' | 'clock'>) =>
    jsonAnswer(await usageOf(asked, caller.accountId, services), {
      headers: { 'cache-control': 'no-store' },
    }),
});

const dayMs = 86_400_000;

/** Adds up usage: in total, and by model, kind and day (docs/contract.md, "Usage"). */
export const totalUsage = (sums: readonly UsageSum[]) => ({
  ...sumUp(sums),
  by_model: groups(sums, ({ model }) => model).map(([model, group]) => ({ model, ...sumUp(group) })),
  by_kind: groups(sums, ({ kind }) => kind).map(([kind, group]) => ({ kind, ...sumUp(group) })),
  by_day: groups(sums, dayOf).map(([day, group]) => ({ day, ...sumUp(group) })),
});

const dayOf = ({ day }: UsageSum): string =>
  new Date(day * dayMs).toISOString().slice(0, 'YYYY-MM-DD'.length);

/** Returns one group per key, ordered by key. */
const groups = (sums: readonly UsageSum[], keyOf: (sum: UsageSum) => string): [string, UsageSum[]][] =>
  [...Map.groupBy(sums, keyOf)].sort(([a], [b]) => (a < b ? -1 : 1));

const sumUp = (sums: readonly UsageSum[]) => {
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
