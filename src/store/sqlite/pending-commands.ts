import { StoreError } from '../store-error.ts';
import type { Reply } from './messages.ts';

/** The commands that a worker has not answered yet, in the order they came. */
export interface PendingCommands {
  /** Throws StoreError when too many wait. */
  add(): { id: number; answer: Promise<unknown> };
  settle(reply: Reply): void;
  /** Rejects one command, or all. */
  reject(error: StoreError, id?: number): void;
  stop(): void;
}

export interface PendingCommandsOptions {
  /** What answers, for messages. */
  worker: string;
  /** Commands that may wait at once; one more is refused. */
  maxWaiting: number;
  /** A command without an answer after this long is rejected; its outcome is unknown. */
  timeoutMs: number;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: StoreError): void;
  since: number;
}

const overdueCheckMs = 1_000;

export const createPendingCommands = ({
  worker,
  maxWaiting,
  timeoutMs,
}: PendingCommandsOptions): PendingCommands => {
  const waiting = new Map<number, Waiting>();
  let lastId = 0;

  const rejectOne = (id: number, error: StoreError): void => {
    const command = waiting.get(id);
    waiting.delete(id);
    command?.reject(error);
  };
  const rejectOverdue = (): void => {
    const limit = performance.now() - timeoutMs;
    for (const [id, { since }] of waiting) {
      if (since > limit) break;
      rejectOne(id, new StoreError('timeout', `${worker} gave no answer in ${timeoutMs} ms`));
    }
  };
  const timer = setInterval(rejectOverdue, Math.min(overdueCheckMs, timeoutMs)).unref();

  return {
    add: () => {
      if (waiting.size >= maxWaiting)
        throw new StoreError(
          'overloaded',
          `${waiting.size} commands wait for ${worker}; this one was not tried`,
        );
      lastId += 1;
      const id = lastId;
      const answer = new Promise<unknown>((resolve, reject) => {
        waiting.set(id, { resolve, reject, since: performance.now() });
      });
      return { id, answer };
    },
    settle: (reply) => {
      if ('failure' in reply) {
        rejectOne(reply.id, new StoreError(reply.reason, reply.failure));
        return;
      }
      const command = waiting.get(reply.id);
      waiting.delete(reply.id);
      command?.resolve(reply.value);
    },
    reject: (error, id) => {
      for (const each of id === undefined ? waiting.keys() : [id]) rejectOne(each, error);
    },
    stop: () => clearInterval(timer),
  };
};
