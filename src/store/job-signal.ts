export const createJobSignal = () => {
  const listeners = new Set<{ call: () => void }>();
  return {
    listen: (listener: () => void): (() => void) => {
      const entry = { call: listener };
      listeners.add(entry);
      return () => {
        listeners.delete(entry);
      };
    },
    emit: (): void => {
      for (const { call } of listeners) call();
    },
  };
};
