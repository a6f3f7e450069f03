import { z } from 'zod';
import { toIso } from '../../kit/clock.ts';
import { AppError } from '../../kit/errors.ts';
import { totalUsage } from '../../ledger/total-usage.ts';
import { time, usd } from '../answer-fields.ts';
import { instant } from '../instant.ts';
import { opaque } from '../schema-marks.ts';
import { getUsageExamples } from './account-examples.ts';
import { type ReadOperation, jsonAnswer } from '../operation.ts';

const defaultSpanMs = 30 * 86_400_000;

const input = z.object({
  from: instant.optional().describe('Inclusive. Default: 30 days before now.'),
  to: instant.optional().describe('Exclusive. Default: now.'),
});

const totals = {
  jobs: opaque(
    z.looseObject({ total: z.int(), queued: z.int(), running: z.int(), done: z.int(), failed: z.int() }),
  ),
  charged_usd: usd,
  refunded_usd: usd,
  net_spent_usd: usd,
};

const output = z.looseObject({
  from: time,
  to: time,
  currency: z.literal('USD'),
  ...totals,
  by_model: z.array(z.looseObject({ model: z.string(), ...totals })),
  by_kind: z.array(z.looseObject({ kind: z.string(), ...totals })),
  by_day: z.array(z.looseObject({ day: z.string().describe('YYYY-MM-DD in UTC.'), ...totals })),
});

export const getUsage: ReadOperation<z.infer<typeof input>> = {
  name: 'get_usage',
  title: 'Sum up usage',
  description:
    'How many jobs this account created in a time and what they cost, in all and by model, kind and day. Free.',
  group: 'generation',
  sale: null,
  input,
  output,
  rest: {
    method: 'GET',
    path: '/v1/usage',
    query: ['from', 'to'],
    validation: 'envelope',
    errors: ['invalid_range'],
  },
  tool: { readOnly: true, idempotent: true, openWorld: false },
  docs: {
    answer: 'Usage',
    description: null,
    examples: getUsageExamples,
    wrong: { from: 'x' },
    headers: {},
    mayBeSandbox: false,
  },
  handle: async (asked, { caller }, { store, clock }) => {
    const now = clock.now();
    const { from = now - defaultSpanMs, to = now } = asked;
    if (from >= to)
      throw new AppError('invalid_range', `from: must be earlier than to, which is ${toIso(to)}.`, {
        param: 'from',
      });
    const sums = await store.sumUsage({ accountId: caller.accountId, from, to });
    return jsonAnswer(
      { from: toIso(from), to: toIso(to), currency: 'USD', ...totalUsage(sums) },
      { headers: { 'cache-control': 'no-store' } },
    );
  },
};
