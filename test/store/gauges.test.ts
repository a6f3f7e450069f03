import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { addAccount, finishing, newPayment, opening, openJob, runningJob, start } from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

describe.each(testEngines())('the figures for telemetry on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  afterAll(() => data.remove());

  it('are zero in an empty store', async () => {
    expect(await store.gaugeActiveJobs(undefined)).toEqual([]);
    expect(await store.gaugeWebhooks(undefined)).toEqual({ events: 0, dueAt: 0 });
    for (const { payments, oldestAt } of await store.gaugePayments(undefined))
      expect([payments, oldestAt]).toEqual([0, 0]);
  });

  it('count active jobs by kind and status, with their holds and the age of the oldest', async () => {
    const owner = await addAccount(store, { balance: 1_000n });
    await openJob(store, opening(runningJob(owner), { hold: 100n, now: start + 5 }));
    await openJob(store, opening(runningJob(owner), { hold: 20n, now: start }));
    const ended = await openJob(store, opening(runningJob(owner), { hold: 3n }));
    await store.finishJob(finishing(ended));
    const kind = runningJob(owner).kind;
    expect(await store.gaugeActiveJobs(undefined)).toEqual([
      { kind, status: 'running', jobs: 2, oldestAt: start, holds: 2, held: 120n },
    ]);
  });

  it('count the webhooks that wait, from the time when the first is due', async () => {
    const owner = await addAccount(store, { balance: 1_000n });
    const job = runningJob(owner, { webhookUrl: 'https://customer.example/hook' });
    const jobId = await openJob(store, opening(job, { hold: 1n }));
    await store.finishJob(
      finishing(jobId, { webhook: { eventId: randomUUID(), body: '{}' }, now: start + 7 }),
    );
    expect(await store.gaugeWebhooks(undefined)).toEqual({ events: 1, dueAt: start + 7 });
  });

  it('count payments by each state in which they have not ended', async () => {
    await store.reservePayment(newPayment({ now: start + 1 }));
    await store.reservePayment(newPayment({ now: start }));
    expect(await store.gaugePayments(undefined)).toContainEqual({
      state: 'reserved',
      payments: 2,
      oldestAt: start,
    });
  });

  it('have a pulse, which is another one after each job, payment and change of an operator, and else the same', async () => {
    const owner = await addAccount(store, { balance: 1_000n });
    const pulses: string[] = [];
    const note = async () => pulses.push(await store.readPulse(undefined));
    await note();
    const job = await openJob(store, opening(runningJob(owner), { hold: 3n }));
    await note();
    await store.finishJob(finishing(job));
    await note();
    const { payment } = await store.reservePayment(newPayment({ now: start + 5 }));
    await note();
    await store.advancePayment({ ...payment, from: ['reserved'], to: 'rejected', now: start + 9 });
    await note();
    const id = randomUUID();
    const change = { id, at: start, actor: 'cli:me', actorLabel: null, operation: 'set_model', input: '{}' };
    await store.startAudit({ ...change, requestId: null });
    await note();
    await store.finishAudit({ id, error: null, now: start });
    await note();
    expect(new Set(pulses).size).toBe(7);
    await note();
    expect(pulses.at(-1)).toBe(pulses.at(-2));
  });
});
