import { afterAll, beforeAll, expect, it } from 'vitest';
import { createUsageTags } from '../../src/accounts/usage-tags.ts';
import { answerEarlier, findReplay, openPrepaid } from '../../src/operations/prepaid.ts';
import type { Store } from '../../src/store/store.ts';
import { addAccount, runningJob, start, type Owner } from '../store/builders.ts';
import { testEngines, type TestStore } from '../store/open-test-store.ts';

let data: TestStore;
let store: Store;
let owner: Owner;

beforeAll(async () => {
  const [engine] = testEngines();
  if (engine === undefined) throw new Error('there is no engine');
  data = await engine.create();
  ({ store } = data);
  owner = await addAccount(store);
});
afterAll(() => data.remove());

it('an idempotency key is kept for 48 hours, to the millisecond', async () => {
  const lifeMs = 48 * 3_600_000;
  const at = (now: number) => ({ store, clock: { now: () => now }, usageTags: createUsageTags({ store }) });
  const idempotency = { endpoint: 'create_image', key: 'order-1', bodyHash: 'body' };
  const open = (now: number) =>
    openPrepaid(
      at(now),
      { caller: {} },
      { job: runningJob(owner, { kind: 'image' }), hold: 1n, idempotency },
    );
  const replayAt = (now: number) =>
    findReplay(at(now), { accountId: owner.accountId, idempotency, payment: null });

  const first = await open(start);
  if (first.outcome !== 'opened') throw new Error(first.outcome);
  const last = start + lifeMs - 1;
  expect(await replayAt(last)).toMatchObject({ outcome: 'replayed', job: { id: first.job.id } });
  expect(await open(last)).toMatchObject({ outcome: 'replayed', job: { id: first.job.id } });
  expect(await replayAt(start + lifeMs)).toBeNull();
  const second = await open(start + lifeMs);
  expect(second.outcome).toBe('opened');
});

/** Sends a call again whose answer is owed, where the balance covers it. */
const askAgain = (caller: object, payment?: object) => {
  const job = { id: 'job', charged: 60n };
  const services = {
    clock: { now: () => start },
    store: {
      findReplay: async () => ({ outcome: 'owed', job }),
      payOwedJob: async () => ({ outcome: 'replayed', job }),
    },
  };
  const prepaid = { idempotentPart: () => '', answer: async () => ({ kind: 'paid' }) };
  const order = { operation: { name: 'create_image' }, prepaid, input: '' };
  const call = { caller: { ...owner, limits: null, ...caller }, idempotencyKey: 'order-2', payment };
  return answerEarlier(order as never, call as never, services as never);
};

it('an answer that is owed is paid from the balance only by a caller whose limits need not count it', async () => {
  const budgeted = { limits: { models: null, isBudgeted: true } };
  const refusal = {
    code: 'insufficient_balance',
    message: expect.stringContaining('$0.00000006 of balance, which only a key without limits pays'),
  };
  await expect(askAgain(budgeted)).rejects.toMatchObject(refusal);
  await expect(askAgain({ askAbove: 59n })).rejects.toMatchObject(refusal);
  expect(await askAgain({ askAbove: 60n })).toEqual({ kind: 'paid' });
  expect(await askAgain({})).toEqual({ kind: 'paid' });
  // A payment of its own takes nothing that was in the balance.
  expect(await askAgain(budgeted, { identity: 'own', most: null })).toEqual({ kind: 'paid' });
});
