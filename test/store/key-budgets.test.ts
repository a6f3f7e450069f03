import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Job, Store } from '../../src/store/store.ts';
import {
  addAccount,
  assertSoundBooks,
  counted,
  finishing,
  opening,
  openWithJob,
  reapAndFail,
  runningJob,
  start,
  type Owner,
} from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';
import { noLimits, type KeyLimits } from '../../src/rules/key-limits.ts';

const hour = 3_600_000;
const day = 24 * hour;

const addKey = async (store: Store, { accountId }: Owner, limits: Partial<KeyLimits>): Promise<Owner> => {
  const keyId = randomUUID();
  await store.createKey({
    id: keyId,
    accountId,
    hash: keyId,
    display: '',
    label: 'reports',
    limits: { ...noLimits, ...limits },
    now: start,
  });
  return { accountId, keyId };
};

const open = (store: Store, owner: Owner, hold: bigint, now = start) =>
  openWithJob(
    store,
    opening(runningJob(owner, { isBudgeted: true, leaseUntil: now + 30_000 }), { hold, now }),
  );

const opened = async (...given: Parameters<typeof open>): Promise<Job> => {
  const outcome = await open(...given);
  if (!('job' in outcome)) throw new Error(`not opened: ${outcome.outcome}`);
  return outcome.job;
};

const finish = (store: Store, job: Job, charge: bigint, now = start) =>
  store.finishJob(finishing(job.id, { charge, now, ...counted(job) }));

const useOf = async (store: Store, { keyId }: Owner, now = start) => {
  const key = await store.getKey({ id: keyId, now });
  if (key === null) throw new Error('there is no such key');
  const { daySpent, dayHeld, monthSpent, monthHeld } = key;
  return { day: [daySpent, dayHeld], month: [monthSpent, monthHeld] };
};

describe.each(testEngines())('the budgets of a key on $kind', ({ kind, create }) => {
  let data: TestStore;
  let store: Store;
  let account: Owner;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
    account = await addAccount(store, { balance: 1_000_000n });
  });
  afterAll(() => data.remove());

  it('refuse a hold that a day or a month does not cover, and say what is left of the shortest', async () => {
    const key = await addKey(store, account, { budgetDay: 100n, budgetMonth: 150n });
    const job = await opened(store, key, 60n);
    expect(await open(store, key, 41n)).toMatchObject({
      outcome: 'insufficient',
      available: 40n,
      budget: { period: 'day', limit: 100n, spent: 0n, held: 60n },
    });
    await finish(store, job, 50n);
    await finish(store, await opened(store, key, 50n), 50n);
    expect(await open(store, key, 51n, start + day)).toMatchObject({
      available: 50n,
      budget: { period: 'month', limit: 150n, spent: 100n, held: 0n },
    });
    expect(await open(store, key, 50n, start + day)).toMatchObject({ outcome: 'opened' });
    await assertSoundBooks(store);
  });

  it('are named before a balance that is short too, because a top-up would not help', async () => {
    const poor = await addAccount(store, { balance: 0n });
    const key = await addKey(store, poor, { budgetDay: 100n });
    expect(await open(store, key, 101n)).toMatchObject({
      outcome: 'insufficient',
      available: 100n,
      budget: { period: 'day' },
    });
    expect(await open(store, key, 100n)).toEqual({ outcome: 'insufficient', available: 0n });
  });

  it('refuse a hold that the total does not cover, on whatever day', async () => {
    const key = await addKey(store, account, { budgetDay: 100n, budgetTotal: 120n });
    await finish(store, await opened(store, key, 90n), 90n);
    expect(await open(store, key, 31n, start + 400 * day)).toMatchObject({
      outcome: 'insufficient',
      available: 30n,
      budget: { period: 'total', limit: 120n, spent: 90n, held: 0n },
    });
    expect(await open(store, key, 30n, start + 400 * day)).toMatchObject({ outcome: 'opened' });
    expect(await store.getKey({ id: key.keyId, now: start })).toMatchObject({
      totalSpent: 90n,
      totalHeld: 30n,
    });
    await assertSoundBooks(store);
  });

  it('write events of the total, which has no end', async () => {
    const url = 'https://shop.example.com/hooks';
    const own = await addAccount(store, { balance: 1_000_000n });
    const key = await addKey(store, own, { budgetTotal: 1_000n, alertUrl: url });
    await finish(store, await opened(store, key, 500n), 500n);
    await finish(store, await opened(store, key, 300n, start + 400 * day), 300n, start + 400 * day);
    const [last] = await store.listWebhooks({ accountId: key.accountId, limit: 1 });
    expect(JSON.parse(last!.body)).toMatchObject({ period: 'total', percent: 80, resets_at: null });
  });

  it('get back what a failed job held, and what a reaped job of a dead worker held', async () => {
    const key = await addKey(store, account, { budgetDay: 100n });
    const failed = await opened(store, key, 60n);
    await opened(store, key, 40n);
    expect(await useOf(store, key)).toEqual({ day: [0n, 100n], month: [0n, 100n] });
    await store.finishJob(finishing(failed.id, { status: 'failed', charge: 0n, ...counted(failed) }));
    expect(await useOf(store, key)).toEqual({ day: [0n, 40n], month: [0n, 40n] });
    await reapAndFail(store, start + hour);
    expect(await useOf(store, key)).toEqual({ day: [0n, 0n], month: [0n, 0n] });
    await assertSoundBooks(store);
  });

  it('count a job in the day and month of its admission, whenever it ends', async () => {
    const key = await addKey(store, account, { budgetDay: 100n });
    const newYear = Date.UTC(2028, 0, 1);
    const job = await opened(store, key, 100n, newYear - 1);
    expect(await open(store, key, 100n, newYear)).toMatchObject({ outcome: 'opened' });
    await finish(store, job, 70n, newYear + hour);
    expect(await useOf(store, key, newYear - 1)).toEqual({ day: [70n, 0n], month: [70n, 0n] });
    expect(await useOf(store, key, newYear)).toEqual({ day: [0n, 100n], month: [0n, 100n] });
  });

  it('are not overrun by calls at the same moment from two handles', async () => {
    const other = await data.openAnother();
    const key = await addKey(store, account, { budgetMonth: 100n });
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, (_, index) => open(index % 2 === 0 ? store : other, key, 10n)),
    );
    expect(outcomes.filter(({ outcome }) => outcome === 'opened')).toHaveLength(10);
    expect(await useOf(store, key)).toEqual({ day: [0n, 100n], month: [0n, 100n] });
  });

  it('hold from the next call on when they change, and a replay needs none', async () => {
    const key = await addKey(store, account, { budgetDay: 100n });
    const idempotency = { endpoint: 'e', key: 'k', bodyHash: 'b', expiresAt: start + day };
    const input = opening(runningJob(key, { isBudgeted: true }), { hold: 90n, idempotency });
    expect(await store.openJob(input)).toMatchObject({ outcome: 'opened' });
    expect(await store.changeKey({ id: key.keyId, budgetDay: 50n })).toBe(true);
    expect(await store.openJob(input)).toMatchObject({ outcome: 'replayed', job: { isBudgeted: true } });
    expect(await open(store, key, 1n)).toMatchObject({ outcome: 'insufficient', available: -40n });
    await store.changeKey({ id: key.keyId, budgetDay: null });
    expect(await open(store, key, 500n)).toMatchObject({ outcome: 'opened' });
  });

  it('write one event for each threshold that a capture reaches, in the unit of that capture', async () => {
    const url = 'https://shop.example.com/hooks';
    const key = await addKey(store, account, { budgetDay: 1_000n, budgetMonth: 10_000n, alertUrl: url });
    const charges = [799n, 1n, 0n, 100n, 100n];
    const seen: unknown[][] = [];
    for (const charge of charges) {
      const job = await opened(store, key, charge);
      await finish(store, job, charge, start + 5);
      const events = await store.listWebhooks({ jobId: job.id, limit: 10 });
      seen.push(events.map(({ body }) => JSON.parse(body).percent));
      expect(events.every((event) => event.url === url && event.state === 'pending')).toBe(true);
    }
    expect(seen).toEqual([[], [80], [], [], [100]]);
    const events = await store.listWebhooks({ accountId: key.accountId, limit: 10 });
    const last = events.find(({ body }) => JSON.parse(body).percent === 100);
    expect(JSON.parse(last!.body)).toEqual({
      event_id: last!.id,
      type: 'key.budget_reached',
      key_id: key.keyId,
      label: 'reports',
      period: 'day',
      percent: 100,
      budget_usd: '0.000001',
      spent_usd: '0.000001',
      resets_at: '2027-01-16T00:00:00.000Z',
      created_at: '2027-01-15T08:00:00.005Z',
    });
    const tomorrow = await opened(store, key, 1_000n, start + day);
    await finish(store, tomorrow, 1_000n, start + day);
    expect(await store.listWebhooks({ jobId: tomorrow.id, limit: 10 })).toHaveLength(2);
  });

  it('are not counted for a key without one', async () => {
    const key = await addKey(store, account, {});
    const input = opening(runningJob(key));
    await store.openJob(input);
    await store.finishJob(finishing(input.job.id));
    expect(await data.sql(`select * from key_use where key_id = '${key.keyId}'`)).toEqual([]);
  });

  it('are checked with the ledger', async () => {
    const key = await addKey(store, account, { budgetDay: 100n });
    await opened(store, key, 60n);
    await data.sql(`update key_use set held = 50 where key_id = '${key.keyId}' and length(period) = 7`);
    const { problems } = await store.checkLedger();
    expect(problems).toEqual([
      `key ${key.keyId}: its use in 2027-01 is 0.00 USD spent and -0.00000001 USD held above its jobs`,
    ]);
    await data.sql(`update key_use set held = 60 where key_id = '${key.keyId}' and length(period) = 7`);
  });

  const action = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ type: fc.constant('open' as const), key: fc.nat(1), hold: fc.bigInt(0n, 120n) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        type: fc.constant('end' as const),
        job: fc.nat(15),
        charge: fc.bigInt(0n, 130n),
      }),
    },
    fc.record({ type: fc.constant('fail' as const), job: fc.nat(15) }),
    fc.record({ type: fc.constant('reap' as const) }),
  );
  const batches = fc.array(
    fc.record({
      actions: fc.array(action, { minLength: 1, maxLength: 8 }),
      waitHours: fc.constantFrom(0, 1, 7, 30, 400),
    }),
    { minLength: 1, maxLength: 8 },
  );
  const budget = { budgetDay: 200n, budgetMonth: 450n, budgetTotal: 1_000n };

  /** The sums over the jobs of a key: by day, by month and in all what is spent and held. */
  const sumsOf = (jobs: Job[]): Map<string, { spent: bigint; held: bigint }> => {
    const sums = new Map<string, { spent: bigint; held: bigint }>();
    for (const { keyId, createdAt, holdState, hold, charged } of jobs)
      for (const period of [7, 10, null]) {
        const name = `${keyId} ${period === null ? 'total' : new Date(createdAt).toISOString().slice(0, period)}`;
        const { spent, held } = sums.get(name) ?? { spent: 0n, held: 0n };
        sums.set(name, { spent: spent + charged, held: held + (holdState === 'open' ? hold : 0n) });
      }
    return sums;
  };

  it('are never exceeded, and are the sums over the jobs, whatever happens on two handles at once', async () => {
    const other = await data.openAnother();
    await fc.assert(
      fc.asyncProperty(batches, async (given) => {
        const owners = [await addKey(store, account, budget), await addKey(store, account, budget)];
        const jobs: Job[] = [];
        let now = start;
        for (const { actions, waitHours } of given) {
          await Promise.all(
            actions.map(async (one, index) => {
              const where = index % 2 === 0 ? store : other;
              if (one.type === 'reap') return reapAndFail(where, now);
              if (one.type === 'open') {
                const outcome = await open(where, owners[one.key]!, one.hold, now);
                if ('job' in outcome) jobs.push(outcome.job);
                return;
              }
              const job = jobs[one.job];
              if (job === undefined) return;
              if (one.type === 'end') await finish(where, job, one.charge, now);
              else
                await where.finishJob(
                  finishing(job.id, { status: 'failed', charge: 0n, now, ...counted(job) }),
                );
            }),
          );
          const known = await Promise.all(
            jobs.map(async ({ id }) => (await store.getJob({ id, accountId: account.accountId }))!),
          );
          const sums = sumsOf(known);
          const rows = await data.sql(
            `select * from key_use where key_id in ('${owners[0]!.keyId}', '${owners[1]!.keyId}')`,
          );
          expect(rows).toHaveLength(sums.size);
          for (const { key_id: keyId, period, ...row } of rows) {
            const [spent, held] = [BigInt(String(row.spent)), BigInt(String(row.held))];
            expect({ spent, held }).toEqual(sums.get(`${String(keyId)} ${String(period)}`));
            const limits: Record<number, bigint> = { 5: budget.budgetTotal, 7: budget.budgetMonth };
            expect(spent + held).toBeLessThanOrEqual(limits[String(period).length] ?? budget.budgetDay);
          }
          now += waitHours * hour;
        }
        await reapAndFail(store, now + day);
        await assertSoundBooks(store);
      }),
      { numRuns: kind === 'sqlite' ? 25 : 15 },
    );
  });
});
