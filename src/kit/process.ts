import { userInfo } from 'node:os';

export const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Calls `handle` in place of a signal that would end the process. Returns a function that ends this. */
export const onStopSignals = (
  handle: (signal: NodeJS.Signals) => void,
  signals: readonly NodeJS.Signals[] = stopSignals,
): (() => void) => {
  for (const name of signals) process.on(name, handle);
  return () => {
    for (const name of signals) process.off(name, handle);
  };
};

const lookEveryMs = 500;

/** Calls back when the parent has ended: a signal to npm or npx ends only it and its shell, not what they started. */
export const whenOrphaned = (callback: () => void): void => {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    callback();
  }, lookEveryMs);
  timer.unref();
};

/** Returns the name of the process's user, or its number if the system has no name for it. */
export const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return String(process.geteuid?.() ?? 'this user');
  }
};
