const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Calls `handle` in place of a signal that would end the process. Returns a function that ends this. */
export const onStopSignals = (handle: (signal: NodeJS.Signals) => void): (() => void) => {
  for (const name of stopSignals) process.on(name, handle);
  return () => {
    for (const name of stopSignals) process.off(name, handle);
  };
};
