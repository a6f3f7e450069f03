import { expect, it, vi } from 'vitest';
import { meterCall } from '../../src/operations/meter-call.ts';

/** A call of a job that runs on, with the answers of `jobs.wait`. */
const meter = (waits: (() => Promise<object>)[]) => {
  const job = { id: 'job', status: 'running', charged: 0n };
  const services = {
    config: { chatDeadlineMs: 1_000 },
    log: { warn: vi.fn() },
    jobs: { isDraining: () => false, wait: vi.fn(() => waits.shift()?.() ?? Promise.resolve(job)) },
    store: {
      getPayment: () => Promise.resolve(null),
      findPaymentOfJob: () => Promise.resolve(null),
      notePaymentJob: () => Promise.reject(new Error('the store is away')),
    },
  };
  const order = { prepaid: { open: () => Promise.resolve({ job, isReplayed: false }) } };
  const account = { caller: { accountId: 'account' }, idempotencyKey: null };
  const { sale } = meterCall(order as never, () => Promise.resolve(account as never), services as never);
  return sale.produce({ identity: 'payment' } as never);
};

it('a job that has begun is charged through an outage of the store', async () => {
  const away = () => Promise.reject(new Error('the store is away'));
  const ended = () => Promise.resolve({ status: 'done', charged: 7n });
  expect(await meter([away, ended])).toEqual({ result: '{}', charge: 7n });
});

it('a job that has not ended in time is not taken as free', async () => {
  await expect(meter([])).rejects.toMatchObject({ name: 'WorkNotEndedError' });
});

it('a job that failed costs nothing, and its error is passed on', async () => {
  const failed = () => Promise.resolve({ status: 'failed', charged: 0n });
  await expect(meter([failed])).rejects.toThrow('the store is away');
});
