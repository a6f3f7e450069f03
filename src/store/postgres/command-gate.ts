import { StoreError } from '../store-error.ts';

/** Counts the commands under way: bounds them, and lets closing wait for them. */
export interface CommandGate {
  /** Rejects with StoreError. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Refuses new commands and waits for those under way. */
  close(): Promise<void>;
}

export const createCommandGate = ({ maxWaiting }: { maxWaiting: number }): CommandGate => {
  const running = new Set<Promise<unknown>>();
  let isClosed = false;
  return {
    run: async (work) => {
      if (isClosed) throw new StoreError('closed', 'the store was closed');
      if (running.size >= maxWaiting)
        throw new StoreError(
          'overloaded',
          `${running.size} commands wait for PostgreSQL; this one was not tried`,
        );
      const command = work();
      running.add(command);
      try {
        return await command;
      } catch (cause) {
        throw new StoreError('failed', cause instanceof Error ? cause.message : String(cause), { cause });
      } finally {
        running.delete(command);
      }
    },
    close: async () => {
      isClosed = true;
      await Promise.allSettled(running);
    },
  };
};
