import { parentPort, workerData } from 'node:worker_threads';
import { followDatabase } from './follow-database.ts';
import type { ReadMessage, ReadRequest, ReadWorkerData } from './messages.ts';

/* The thread that searches in PostgreSQL: some searches at once, as most of their time is the server's. */
const tell = (message: ReadMessage): void => parentPort?.postMessage(message);

const given: ReadWorkerData = workerData;
const followed = followDatabase({
  ...given,
  onServing: (served) => tell({ kind: 'serving', served }),
  onForgotten: (forgotten) => {
    const message: ReadMessage = { kind: 'forgotten', forgotten };
    parentPort?.postMessage(message, [forgotten.digests.buffer]);
  },
  onUnanswering: (cause) => tell({ kind: 'unanswering', cause: String(cause) }),
  onConnectionBroken: (cause) => tell({ kind: 'connection-broken', cause: String(cause) }),
});
const running = new Map<number, AbortController>();

const queryCanceled = '57014';

const search = async ({ id, query }: Extract<ReadRequest, { kind: 'search' }>): Promise<void> => {
  const abandoning = new AbortController();
  running.set(id, abandoning);
  try {
    const leads = await followed.search(query, abandoning.signal);
    tell({ kind: 'found', id, leads: JSON.stringify(leads) });
  } catch (error) {
    const isLate = error instanceof Error && 'code' in error && error.code === queryCanceled;
    tell({ kind: 'failed', id, isLate, cause: String(error) });
  } finally {
    running.delete(id);
  }
};

parentPort?.on('message', (request: ReadRequest) => {
  switch (request.kind) {
    case 'search':
      return void search(request);
    case 'abandon':
      return running.get(request.id)?.abort();
    case 'close':
      for (const abandoning of running.values()) abandoning.abort();
      return void followed.close().finally(() => parentPort?.close());
  }
});
