const lookEveryMs = 500;

/**
 * Calls back once when the parent process has ended. A signal to npm or npx ends only it and its shell, not the
 * process that they started.
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
