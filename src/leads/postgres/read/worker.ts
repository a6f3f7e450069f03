import { workerData } from 'node:worker_threads';
import { serveCalls, tellEvent } from '../../../kit/threads/serve-calls.ts';
import type { LeadQuery } from '../../lead-source.ts';
import { followDatabase } from './follow-database.ts';
import type { FoundLeads, ReadEvent, ReadWorkerData } from './messages.ts';

/* The thread that searches in PostgreSQL: some searches at once, as most of their time is the server's. */
const tell: (event: ReadEvent, transferred?: ArrayBuffer[]) => void = tellEvent;

const given: ReadWorkerData = workerData;
const followed = followDatabase({
  ...given,
  onServing: (served) => tell({ kind: 'serving', served }),
  onForgotten: (forgotten) => tell({ kind: 'forgotten', forgotten }, [forgotten.digests.buffer]),
  onUnanswering: (cause) => tell({ kind: 'unanswering', cause: String(cause) }),
  onConnectionBroken: (cause) => tell({ kind: 'connection-broken', cause: String(cause) }),
});

const queryCanceled = '57014';

const search = async (query: LeadQuery, signal: AbortSignal): Promise<FoundLeads> => {
  try {
    return { leads: JSON.stringify(await followed.search(query, signal)) };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === queryCanceled)
      return { lateCause: String(error) };
    throw error;
  }
};

serveCalls(search, () => followed.close());
