import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json, JsonObject } from '../../../src/kit/json.ts';
import { parseUsd } from '../../../src/kit/money.ts';
import type { KeySum, TagSum, UsageSum } from '../../../src/store/store.ts';
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

const toKeySum = ({ model, status, jobs, charged, refunded }: UsageSum): KeySum => ({
  keyId: model,
  label: `${model}'s`,
  status,
  jobs,
  charged,
  refunded,
});

const toTagSum = ({ model, status, jobs, charged, refunded }: UsageSum): TagSum => ({
  tag: model,
  status,
  jobs,
  charged,
  refunded,
});

const rowsOf = (value: Json | undefined): JsonObject[] => value as JsonObject[];
const usd = (value: Json | undefined): bigint => parseUsd(value as string);
const countOf = (row: JsonObject, name: string): number => Number((row['jobs'] as JsonObject)[name]);

test('the totals are exact, and every breakdown adds up to them', () => {
  fc.assert(
    fc.property(fc.array(usageSum, { maxLength: 60 }), (sums) => {
      const usage = totalUsage({ groups: sums, keys: sums.map(toKeySum), tags: sums.map(toTagSum) });
      expect(usd(usage['charged_usd'])).toBe(sums.reduce((total, { charged }) => total + charged, 0n));
      expect(usd(usage['net_spent_usd'])).toBe(usd(usage['charged_usd']) - usd(usage['refunded_usd']));
      expect(countOf(usage, 'total')).toBe(statuses.reduce((total, name) => total + countOf(usage, name), 0));
      for (const [breakdown, key] of [
        ['by_model', 'model'],
        ['by_kind', 'kind'],
        ['by_day', 'day'],
        ['by_key', 'key_id'],
        ['by_tag', 'tag'],
      ] as const) {
        const rows = rowsOf(usage[breakdown]);
        const keys = rows.map((row) => row[key] as string);
        expect(keys.toSorted()).toEqual([...new Set(keys)].sort());
        if (breakdown !== 'by_key') expect(keys).toEqual(keys.toSorted());
        for (const amount of ['charged_usd', 'refunded_usd', 'net_spent_usd'] as const)
          expect(rows.reduce((total, row) => total + usd(row[amount]), 0n)).toBe(usd(usage[amount]));
        for (const name of ['total', ...statuses])
          expect(rows.reduce((total, row) => total + countOf(row, name), 0)).toBe(countOf(usage, name));
      }
    }),
  );
});

test('nothing used is zero, without a row', () => {
  expect(totalUsage({ groups: [], keys: [], tags: [] })).toEqual({
    jobs: { total: 0, queued: 0, running: 0, done: 0, failed: 0 },
    charged_usd: '0.00',
    refunded_usd: '0.00',
    net_spent_usd: '0.00',
    by_model: [],
    by_kind: [],
    by_day: [],
    by_key: [],
    by_tag: [],
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
  expect(totalUsage({ groups: [sum], keys: [], tags: [] })['by_day']).toEqual([
    {
      day: '2026-02-28',
      jobs: { total: 1, queued: 0, running: 0, done: 1, failed: 0 },
      charged_usd: '0.000000001',
      refunded_usd: '0.00',
      net_spent_usd: '0.000000001',
    },
  ]);
});

test('the keys that spent most come first, and all after the hundredth are one sum', () => {
  const keys = Array.from({ length: 102 }, (_, index) =>
    toKeySum({
      model: `k${index}`,
      kind: 'chat',
      status: 'done',
      day: 0,
      jobs: 1,
      charged: BigInt(index),
      refunded: 0n,
    }),
  );
  const rows = totalUsage({ groups: [], keys, tags: [] }).by_key;
  expect(rows).toHaveLength(101);
  expect(rows[0]).toMatchObject({ key_id: 'k101', label: "k101's", charged_usd: '0.000000101' });
  expect(rows[100]).toMatchObject({ key_id: null, jobs: { total: 2 }, charged_usd: '0.000000001' });
});
