import { expectEqual, expectError, expectJson, expectThat } from '../assertions.ts';
import type { Check } from '../check.ts';
import { asyncImage } from '../fixtures.ts';
import {
  count,
  exactly,
  expectShape,
  filledText,
  listOf,
  members,
  timestamp,
  usd,
  type JsonRecord,
  type Shape,
} from '../shapes.ts';
import { fromNano, toNano } from '../usd.ts';
import type { Suite } from '../suite.ts';

const dayMs = 86_400_000;

const jobCounts = members(
  { total: count, queued: count, running: count, done: count, failed: count },
  { only: true },
);
const totals = { jobs: jobCounts, charged_usd: usd, refunded_usd: usd, net_spent_usd: usd };
const group = (name: string): Shape => listOf(members({ [name]: filledText, ...totals }));

const usageShape = members({
  from: timestamp,
  to: timestamp,
  currency: exactly('USD'),
  ...totals,
  by_model: group('model'),
  by_kind: group('kind'),
  by_day: group('day'),
});

const usageOf = async (suite: Suite, query = ''): Promise<JsonRecord> => {
  const body = expectJson(await suite.call(`/v1/usage${query}`), 200);
  expectShape(body, usageShape, 'usage');
  return body;
};

const totalJobs = (usage: JsonRecord): number => Number((usage['jobs'] as JsonRecord)['total']);

const window = (from: number, to: number): string =>
  `?from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`;

export const accountChecks: readonly Check[] = [
  {
    id: 'BAL-1',
    title: 'GET /v1/balance has balance_usd, currency USD and webhook_secret',
    run: async (suite) => {
      const body = expectJson(await suite.call('/v1/balance'), 200);
      expectShape(
        body,
        members({ balance_usd: usd, currency: exactly('USD'), webhook_secret: filledText }),
        'the balance',
      );
    },
  },
  {
    id: 'BAL-2',
    title: 'the first balance read creates the webhook secret, and later reads return the same one',
    run: async (suite) => {
      const [first, second] = await Promise.all([suite.call('/v1/balance'), suite.call('/v1/balance')]);
      const secret = expectJson(first, 200)['webhook_secret'];
      expectShape(secret, filledText, 'the secret');
      expectThat(expectJson(second, 200)['webhook_secret'] === secret, 'two reads show two secrets');
    },
  },
  {
    id: 'USE-1',
    title: 'GET /v1/usage covers the last 30 days by default',
    run: async (suite) => {
      const { from, to } = await usageOf(suite);
      const end = Date.parse(String(to));
      expectThat(Math.abs(end - Date.now()) < 120_000, `to is ${String(to)}, not now`);
      const days = (end - Date.parse(String(from))) / dayMs;
      expectThat(Math.abs(days - 30) < 0.01, `the window is ${days} days long`);
    },
  },
  {
    id: 'USE-2',
    title: 'from is inclusive and to is exclusive',
    needs: ['image'],
    run: async (suite) => {
      const { job } = await asyncImage(suite);
      const at = Date.parse(String(job['created_at']));
      const [before, itself, both] = await Promise.all([
        usageOf(suite, window(at - 60_000, at)),
        usageOf(suite, window(at, at + 1)),
        usageOf(suite, window(at - 60_000, at + 1)),
      ]);
      expectThat(totalJobs(itself) >= 1, 'a job is not counted in the window that begins at its created_at');
      expectEqual(totalJobs(before) + totalJobs(itself), totalJobs(both), 'the jobs of two windows');
    },
  },
  {
    id: 'USE-3',
    title: 'from that is not earlier than to is 400 invalid_range on from',
    run: async (suite) => {
      const wanted = { status: 400, code: 'invalid_range', param: 'from' };
      const now = Date.now() - dayMs;
      expectError(await suite.call(`/v1/usage${window(now, now)}`), wanted);
      expectError(await suite.call(`/v1/usage${window(now, now - dayMs)}`), wanted);
    },
  },
  {
    id: 'USE-4',
    title: 'an invalid date is 422 and names the parameter',
    run: async (suite) => {
      for (const name of ['from', 'to'])
        for (const value of ['yesterday', '2026-13-01T00:00:00Z', '12'])
          expectError(await suite.call(`/v1/usage?${name}=${value}`), {
            status: 422,
            code: 'invalid_parameter',
            param: name,
          });
    },
  },
  {
    id: 'USE-5',
    title: 'the totals are the sums of their parts',
    run: async (suite) => {
      const usage = await usageOf(suite);
      const jobs = usage['jobs'] as Record<string, number>;
      expectEqual(
        (jobs['queued'] ?? 0) + (jobs['running'] ?? 0) + (jobs['done'] ?? 0) + (jobs['failed'] ?? 0),
        jobs['total'],
        'the sum of the states',
      );
      const net = toNano(usage['charged_usd']) - toNano(usage['refunded_usd']);
      expectEqual(fromNano(net), usage['net_spent_usd'], 'charged less refunded');
      for (const name of ['by_model', 'by_kind', 'by_day']) {
        const parts = usage[name] as JsonRecord[];
        const sum = parts.reduce((total, part) => total + toNano(part['net_spent_usd']), 0n);
        expectEqual(fromNano(sum), usage['net_spent_usd'], `the sum of ${name}`);
        expectEqual(
          parts.reduce((total, part) => total + totalJobs(part), 0),
          jobs['total'],
          `the jobs of ${name}`,
        );
      }
    },
  },
];
