import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../src/kit/ids.ts';
import { parseUsd } from '../../src/kit/money.ts';
import type { Store } from '../../src/store/store.ts';
import { addAccount, opening, openJob, runningJob, start, type Owner } from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

const url = 'https://customer.example/hook';

describe.each(testEngines())('the alert of a low balance on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  let owner: Owner;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  beforeEach(async () => {
    owner = await addAccount(store, { balance: parseUsd('10') });
    await store.setBalanceAlert({ accountId: owner.accountId, below: parseUsd('5'), url });
  });
  afterAll(() => data.remove());

  const post = (usd: string) =>
    store.postEntry({
      id: newId(),
      accountId: owner.accountId,
      type: 'adjustment',
      amount: parseUsd(usd),
      note: null,
      now: start,
    });
  const look = (from = store) => from.tellLowBalances({ now: start, limit: 100 });
  const told = async () => {
    const events = await store.listWebhooks({ accountId: owner.accountId, limit: 10 });
    return events.map(({ event, jobId, body }) => ({
      event,
      jobId,
      ...(JSON.parse(body) as { balance_usd: string }),
    }));
  };

  it('is told once when the balance is below the limit, and not at the limit', async () => {
    await look();
    await post('-5');
    await look();
    expect(await told()).toEqual([]);
    await post('-0.01');
    await look();
    await post('-1');
    await look();
    expect(await told()).toEqual([
      {
        event: 'balance.low',
        jobId: null,
        event_id: expect.any(String),
        type: 'balance.low',
        balance_usd: '4.99',
        low_balance_usd: '5.00',
        created_at: new Date(start).toISOString(),
      },
    ]);
  });

  it('is told again only after the balance was not below', async () => {
    for (const change of ['-6', '-1', '+7', '-6']) {
      await post(change.replace('+', ''));
      await look();
    }
    expect((await told()).map(({ balance_usd: balance }) => balance).toSorted()).toEqual(['4.00', '4.00']);
  });

  it('is told once by several processes that look at the same moment', async () => {
    const other = await data.openAnother();
    await post('-6');
    await Promise.all([look(), look(other), look(), look(other)]);
    expect(await told()).toHaveLength(1);
  });

  it('does not count open holds, ends when it is removed, and begins anew when it is set', async () => {
    const { accountId } = owner;
    await openJob(store, opening(runningJob(owner), { hold: parseUsd('9') }));
    await look();
    expect(await told()).toEqual([]);
    await store.removeBalanceAlert(accountId);
    expect(await store.getBalanceAlert(accountId)).toBeNull();
    await store.setBalanceAlert({ accountId, below: parseUsd('20'), url });
    await look();
    await store.setBalanceAlert({ accountId, below: parseUsd('30'), url });
    await look();
    expect(await told()).toHaveLength(2);
  });
});
