import { parentPort, workerData } from 'node:worker_threads';
import { SegmentDamagedError } from '../segment/segment-format.ts';
import { ManifestUnreadableError } from '../manifest.ts';
import { followGenerations } from './follow-generations.ts';
import type { ReadMessage, ReadRequest } from './messages.ts';

/* The thread that answers searches from the current generation, one at a time. */
const tell = (message: ReadMessage): void => parentPort?.postMessage(message);

const failure = (id: number, error: unknown): ReadMessage =>
  error instanceof SegmentDamagedError
    ? { kind: 'damaged', cause: String(error) }
    : { kind: 'failed', id, cause: String(error) };

const giveUp = (error: unknown): void => {
  if (!(error instanceof SegmentDamagedError || error instanceof ManifestUnreadableError)) throw error;
  tell({ kind: 'damaged', cause: String(error) });
};

const serve = (folder: string): void => {
  const generations = followGenerations(folder, {
    onServing: (served) => tell({ kind: 'serving', served }),
    onNotSwitched: (cause) => tell({ kind: 'not-switched', cause: String(cause) }),
    onGivenUp: giveUp,
  });
  parentPort?.on('message', ({ id, query }: ReadRequest) => {
    try {
      tell({ kind: 'found', id, leads: generations.search(query) });
    } catch (error) {
      tell(failure(id, error));
    }
  });
};

const { folder }: { folder: string } = workerData;
try {
  serve(folder);
} catch (error) {
  giveUp(error);
}
