import { setImmediate as nextTurn } from 'node:timers/promises';

const workMs = 50;

/**
 * To be called between small pieces of a long work: lets the event loop turn when 50 ms have passed, so that signals
 * and timers get through, and resolves with whether it did. Rejects with the reason of `signal` when that aborts.
 */
export const createBreather = (signal: AbortSignal): (() => Promise<boolean>) => {
  let lastMs = performance.now();
  return async () => {
    signal.throwIfAborted();
    if (performance.now() - lastMs < workMs) return false;
    await nextTurn();
    signal.throwIfAborted();
    lastMs = performance.now();
    return true;
  };
};
