import { setTimeout as sleep } from 'node:timers/promises';
import type { AccountLease } from '../core/network-family.ts';

const maxWaiting = 500;
/** The transactions of one lease. Then other processes get the account. */
const maxInALease = 5;
/** Longer than other processes wait between two attempts at the lease. */
const breakMs = 50;

/**
 * Runs one task at a time: in this process, and by the lease among all processes that share the account. `onBreak` is
 * called before a task when another process may have sent in between. Throws when too many tasks wait.
 */
export const createAccountQueue = (options: { lease: AccountLease; waitMs: number; onBreak: () => void }) => {
  const { lease, waitMs, onBreak } = options;
  let waiting = 0;
  let doneInLease = 0;
  let last: Promise<unknown> = Promise.resolve();

  const runInLease = async <T>(signal: AbortSignal, task: () => Promise<T>): Promise<T> => {
    const { isKept } = await lease.take({ signal, waitMs });
    if (!isKept) onBreak();
    return task();
  };
  const endTask = async (): Promise<void> => {
    waiting -= 1;
    doneInLease += 1;
    if (waiting > 0 && doneInLease < maxInALease) return;
    doneInLease = 0;
    await lease.release();
    if (waiting > 0) await sleep(breakMs);
  };
  return async <T>(signal: AbortSignal, task: () => Promise<T>): Promise<T> => {
    if (waiting >= maxWaiting) throw new Error('too many settlements are waiting');
    waiting += 1;
    const mine = last.then(() => runInLease(signal, task));
    // The next task waits for the lease, and the caller need not.
    last = mine.then(endTask, endTask);
    return mine;
  };
};
