import { expect, it, vi } from 'vitest';
import { meterCall } from '../../src/operations/meter-call.ts';

/** A call of a job that runs on, with the answers of `jobs.wait`. */
const meter = (waits: (() => Promise<object>)[]) => {
  const job = { id: 'job', status: 'running', charged: 0n };
  const services = {
    config: { chatDeadlineMs: 1_000 },
    log: { warn: vi.fn() },
    jobs: { isDraining: () => false, wait: vi.fn(() => waits.shift()?.() ?? Promise.resolve(job)) },
    clock: { now: () => 0 },
    store: { findReplay: () => Promise.resolve(null) },
  };
  const prepaid = {
    open: () => Promise.resolve({ job, isReplayed: false }),
    answer: () => Promise.reject(new Error('the store is away')),
  };
  const order = { prepaid };
  const account = { caller: { accountId: 'account' }, idempotencyKey: null };
  const caller = {
    clientAddress: '198.51.100.7',
    deadlineMs: services.config.chatDeadlineMs,
    toAccount: () => Promise.resolve(account as never),
  };
  const { sale } = meterCall(order as never, caller, services as never);
  return sale.produce({ identity: 'payment' } as never);
};

it('a job that has begun is charged through an outage of the store', async () => {
  const away = () => Promise.reject(new Error('the store is away'));
  const ended = () => Promise.resolve({ status: 'done', charged: 7n, unpaidBy: 'payment' });
  expect(await meter([away, ended])).toEqual({ result: null, charge: 7n });
});

it('a job that is paid already, or by another payment, is not charged again', async () => {
  const ended = (unpaidBy: string | null) => () => Promise.resolve({ status: 'done', charged: 7n, unpaidBy });
  await expect(meter([ended(null)])).rejects.toThrow('the store is away');
  await expect(meter([ended('another')])).rejects.toThrow('the store is away');
});

it('a job that has not ended in time is not taken as free', async () => {
  await expect(meter([])).rejects.toMatchObject({ name: 'WorkNotEndedError' });
});

it('a job that failed costs nothing, and its error is passed on', async () => {
  const failed = () => Promise.resolve({ status: 'failed', charged: 0n });
  await expect(meter([failed])).rejects.toThrow('the store is away');
});
