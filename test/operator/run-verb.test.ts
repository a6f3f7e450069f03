import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { newId } from '../../src/kit/ids.ts';
import { creditAccount } from '../../src/operator/money.ts';
import { audited, createRefusalLimit, runVerb } from '../../src/operator/run-verb.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { addAccount } from '../store/builders.ts';
import { testEngines, type TestStore } from '../store/open-test-store.ts';

const call = { actor: 'cli:test', actorLabel: null, role: 'write', requestId: null } as const;

describe.each(testEngines())('the audit log on $kind', ({ create }) => {
  let data: TestStore;
  beforeEach(async () => {
    data = await create();
  });
  afterEach(() => data.remove());

  test('refuses a change when its row cannot be written', async () => {
    const { accountId } = await addAccount(data.store, { balance: 0n });
    const store = {
      ...data.store,
      startAudit: () => Promise.reject(new StoreError('unavailable', 'the database is away')),
    };
    const services = {
      store,
      clock: systemClock,
      brand: 'causeway',
      config: () => Promise.resolve(readConfig({}, null)),
    };
    const input = { account_id: accountId, amount_usd: '5.00', reason: 'Invoice 1', entry_id: newId() };
    await expect(runVerb(creditAccount, async () => input, call, services)).rejects.toThrow(StoreError);
    expect((await data.store.getAccount(accountId))?.balance).toBe(0n);
  });

  test.each(['postEntry', 'finishAudit'] as const)(
    'leaves the outcome open when the store fails after %s, and a change that was made is answered',
    async (name) => {
      const { accountId } = await addAccount(data.store, { balance: 0n });
      const lost = new StoreError('unavailable', 'the answer of the database was lost');
      const store = {
        ...data.store,
        postEntry: async (input: Parameters<typeof data.store.postEntry>[0]) => {
          const posted = await data.store.postEntry(input);
          if (name === 'postEntry') throw lost;
          return posted;
        },
        finishAudit: () => Promise.reject(lost),
      };
      const input = { account_id: accountId, amount_usd: '5.00', reason: 'Invoice 1', entry_id: newId() };
      const config = () => Promise.resolve(readConfig({}, null));
      const services = { store, clock: systemClock, brand: 'causeway', config };
      const made = runVerb(creditAccount, async () => input, call, services);
      if (name === 'postEntry') await expect(made).rejects.toBe(lost);
      else expect(await made).toMatchObject({ balance_usd: '5.00' });
      expect(await data.store.listAudit({ limit: 10 })).toMatchObject([{ outcome: null }]);
    },
  );

  test('names a fault of the gateway without its text, and masks keys of both kinds', async () => {
    const key = `op_causeway_${'aB3'.repeat(14)}x`;
    const customersKey = key.replace('op_', 'sk_');
    const input = { key_id: key, note: `leaked: ${customersKey}` };
    const fault = new Error('a secret detail');
    const failing = audited({ operation: 'test', input }, call, { ...data, clock: systemClock }, () =>
      Promise.reject(fault),
    );
    await expect(failing).rejects.toBe(fault);
    expect(await data.store.listAudit({ limit: 10 })).toMatchObject([
      { outcome: 'failed', error: 'server_error', input: { key_id: 'op_*', note: 'leaked: sk_*' } },
    ]);
  });

  test('masks the name of a film in a text, leaves the rest of the input, and words that look like keys', async () => {
    const film = 'https://gw.example/films/';
    const pasted = `line\\nsk_causeway_${'a'.repeat(43)}`;
    const input = { reason: `"Broken": ${film}Ab12Cd34`, entry: ['e'], tool: 'shop_delete_orders', pasted };
    await audited({ operation: 'test', input }, call, { ...data, clock: systemClock }, async () => {});
    expect(await data.store.listAudit({ limit: 10 })).toMatchObject([
      { input: { ...input, reason: `"Broken": ${film}*`, pasted: 'line\\nsk_*' } },
    ]);
  });

  test('shows an input that is no JSON as it is, beside the other rows', async () => {
    for (const operation of ['first', 'second'])
      await audited({ operation, input: {} }, call, { ...data, clock: systemClock }, async () => {});
    await data.sql(`update audit_log set input = '{"a":"films/*' where operation = 'first'`);
    const rows = await data.store.listAudit({ limit: 10 });
    expect(Object.fromEntries(rows.map(({ operation, input }) => [operation, input]))).toEqual({
      first: { unreadable: '{"a":"films/*' },
      second: {},
    });
  });

  test('is listed newest first, by actor, operation and time, page by page', async () => {
    const services = { store: data.store, clock: { now: () => now } };
    let now = 1_000;
    const note = (actor: string, operation: string): Promise<void> => {
      now += 1_000;
      return audited({ operation, input: { now } }, { ...call, actor }, services, () => Promise.resolve());
    };
    for (const actor of ['cli:ann', 'cli:bob'])
      for (const operation of ['credit_account', 'adjust_account', 'credit_account'])
        await note(actor, operation);
    const times = async (filter: Omit<Parameters<typeof data.store.listAudit>[0], 'limit'>) =>
      (await data.store.listAudit({ limit: 3, ...filter })).map(({ at }) => at / 1_000);
    expect(await times({})).toEqual([7, 6, 5]);
    const [, , third] = await data.store.listAudit({ limit: 3 });
    expect(await times({ afterId: third!.id })).toEqual([4, 3, 2]);
    expect(await times({ actor: 'cli:ann' })).toEqual([4, 3, 2]);
    expect(await times({ operation: 'adjust_account' })).toEqual([6, 3]);
    expect(await times({ actor: 'cli:bob', operation: 'credit_account' })).toEqual([7, 5]);
    expect(await times({ since: 6_000 })).toEqual([7, 6]);
    expect(await times({ actor: 'cli:eve' })).toEqual([]);
  });
});

test('a flood of addresses adds few rows, takes none from keys, and an hour later refusals have rows again', () => {
  let now = 0;
  const limit = createRefusalLimit(() => now);
  const told: number[] = [];
  const guess = (count: number): void => {
    for (let source = 0; source < count; source += 1) {
      const leftOut = limit(`address:10.0.${source >> 8}.${source & 255}`);
      if (leftOut !== null) told.push(leftOut);
    }
  };
  guess(50_000);
  expect(told).toEqual([...Array.from({ length: 60 }, () => 0), 1, 10, 100, 1_000, 10_000]);
  const ofKey = Array.from({ length: 21 }, () => limit('key:billing'));
  expect(ofKey).toEqual([...Array.from({ length: 20 }, () => 0), null]);
  now = 3_600_000;
  expect([limit('address:10.0.0.1'), limit('key:billing')]).toEqual([0, 0]);
});
