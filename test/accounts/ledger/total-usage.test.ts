import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json, JsonObject } from '../../../src/kit/json.ts';
import { parseUsd } from '../../../src/kit/money.ts';
import type { UsageSum } from '../../../src/store/store.ts';
import { totalUsage } from '../../../src/operations/account/get-usage.ts';

const statuses = ['queued', 'running', 'done', 'failed'] as const;

const usageSum: fc.Arbitrary<UsageSum> = fc
  .record({
    model: fc.constantFrom('a', 'b', 'B', 'ä'),
    kind: fc.constantFrom('chat', 'image', 'responses', 'video'),
    status: fc.constantFrom(...statuses),
    day: fc.integer({ min: 0, max: 30_000 }),
    jobs: fc.integer({ min: 1, max: 1_000_000 }),
    charged: fc.bigInt({ min: 0n, max: 10n ** 18n }),
    kept: fc.bigInt({ min: 0n, max: 10n ** 18n }),
  })
  .map(({ kept, ...sum }) => ({ ...sum, refunded: kept < sum.charged ? kept : sum.charged }));

const rowsOf = (value: Json | undefined): JsonObject[] => value as JsonObject[];
const usd = (value: Json | undefined): bigint => parseUsd(value as string);
const countOf = (row: JsonObject, name: string): number => Number((row['jobs'] as JsonObject)[name]);

test('the totals are exact, and every breakdown adds up to them', () => {
  fc.assert(
    fc.property(fc.array(usageSum, { maxLength: 60 }), (sums) => {
      const usage = totalUsage(sums);
      expect(usd(usage['charged_usd'])).toBe(sums.reduce((total, { charged }) => total + charged, 0n));
      expect(usd(usage['net_spent_usd'])).toBe(usd(usage['charged_usd']) - usd(usage['refunded_usd']));
      expect(countOf(usage, 'total')).toBe(statuses.reduce((total, name) => total + countOf(usage, name), 0));
      for (const [breakdown, key] of [
        ['by_model', 'model'],
        ['by_kind', 'kind'],
        ['by_day', 'day'],
      ] as const) {
        const rows = rowsOf(usage[breakdown]);
        const keys = rows.map((row) => row[key] as string);
        expect(keys).toEqual([...new Set(keys)].sort());
        for (const amount of ['charged_usd', 'refunded_usd', 'net_spent_usd'] as const)
          expect(rows.reduce((total, row) => total + usd(row[amount]), 0n)).toBe(usd(usage[amount]));
        for (const name of ['total', ...statuses])
          expect(rows.reduce((total, row) => total + countOf(row, name), 0)).toBe(countOf(usage, name));
      }
    }),
  );
});

test('nothing used is zero, without a row', () => {
  expect(totalUsage([])).toEqual({
    jobs: { total: 0, queued: 0, running: 0, done: 0, failed: 0 },
    charged_usd: '0.00',
    refunded_usd: '0.00',
    net_spent_usd: '0.00',
    by_model: [],
    by_kind: [],
    by_day: [],
  });
});

test('a day is named by its date in UTC', () => {
  const sum: UsageSum = {
    model: 'a',
    kind: 'chat',
    status: 'done',
    day: Date.UTC(2026, 1, 28) / 86_400_000,
    jobs: 1,
    charged: 1n,
    refunded: 0n,
  };
  expect(totalUsage([sum])['by_day']).toEqual([
    {
      day: '2026-02-28',
      jobs: { total: 1, queued: 0, running: 0, done: 1, failed: 0 },
      charged_usd: '0.000000001',
      refunded_usd: '0.00',
      net_spent_usd: '0.000000001',
    },
  ]);
});
