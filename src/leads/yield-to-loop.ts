import { setImmediate as nextTurn } from 'node:timers/promises';

const usualWorkMs = 50;

/**
 * Returns a function to call between small steps of a long task. After `workMs` it lets the event loop turn, for signals
 * and timers, and resolves with true if it did. Rejects with the reason of `signal` when that aborts.
 */
export const createYieldToLoop = (signal?: AbortSignal, workMs = usualWorkMs): (() => Promise<boolean>) => {
  let lastMs = performance.now();
  return async () => {
    signal?.throwIfAborted();
    if (performance.now() - lastMs < workMs) return false;
    await nextTurn();
    signal?.throwIfAborted();
    lastMs = performance.now();
    return true;
  };
};
