const lookEveryMs = 500;

/**
 * Calls back once when the process that started this one has gone. A signal to npm ends npm and its shell alone, and would
 * leave what they run behind.
 */
export const whenOrphaned = (callback: () => void): void => {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    callback();
  }, lookEveryMs);
  timer.unref();
};
