import { setImmediate as nextTurn } from 'node:timers/promises';

const workMs = 50;

/**
 * Returns a function to call between small pieces of long work. It yields to the event loop once 50 ms have passed, so
 * that signals and timers are handled, and resolves with true when it did. Rejects with the reason of `signal`.
 */
export const createYieldToLoop = (signal: AbortSignal): (() => Promise<boolean>) => {
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
