import { DatabaseError } from 'pg';
import { StoreError, type StoreFailure } from '../store-error.ts';

/** Limits the number of running commands, and lets `close` wait for them. */
export interface CommandGate {
  /** Rejects with StoreError. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Refuses new commands and waits for the running ones. */
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
        if (cause instanceof StoreError) throw cause;
        const message = cause instanceof Error ? cause.message : String(cause);
        throw new StoreError(reasonOf(cause), message, { cause });
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

const diskFull = '53100';
/**
 * SQLSTATEs that mean that the server cannot work now: connections (08), deadlocks (40), resources (53), shutdown and
 * time-outs (57), the system (58), log-ins (28), a missing database (3D), a standby (25006), idle transactions and
 * locks.
 */
const outage = /^(?:08|28|3D|40|53|57|58)|^(?:25006|25P03|25P04|55P03)$/;

const reasonOf = (error: unknown): StoreFailure => {
  const state = error instanceof DatabaseError ? (error.code ?? '') : '';
  if (state === diskFull) return 'full';
  return outage.test(state) ? 'unavailable' : 'failed';
};
