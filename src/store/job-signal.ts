/** Tells listeners that a job may have become claimable. */
export interface JobSignal {
  /** Returns a function that removes the listener. */
  listen(listener: () => void): () => void;
  emit(): void;
}

export const createJobSignal = (): JobSignal => {
  const listeners = new Set<{ call: () => void }>();
  return {
    listen: (listener) => {
      const entry = { call: listener };
      listeners.add(entry);
      return () => {
        listeners.delete(entry);
      };
    },
    emit: () => {
      for (const { call } of listeners) call();
    },
  };
};
