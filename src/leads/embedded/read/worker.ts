import { parentPort, workerData } from 'node:worker_threads';
import { openIndex } from '../open-index.ts';
import type { ReadMessage, ReadRequest } from './messages.ts';

/* The thread that answers searches from one index, over a read-only connection, one after the other. */
const sqliteCorrupt = 11;
const sqliteNotADatabase = 26;

const isDamage = (error: unknown): boolean => {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return false;
  const primaryCode = error.errcode % 256;
  return primaryCode === sqliteCorrupt || primaryCode === sqliteNotADatabase;
};

const tell = (message: ReadMessage): void => parentPort?.postMessage(message);

const failure = (id: number, error: unknown): ReadMessage =>
  isDamage(error) ? { kind: 'damaged', cause: String(error) } : { kind: 'failed', id, cause: String(error) };

const serve = (file: string): void => {
  const index = openIndex(file);
  parentPort?.on('message', ({ id, query }: ReadRequest) => {
    try {
      tell({ kind: 'found', id, leads: index.search(query) });
    } catch (error) {
      tell(failure(id, error));
    }
  });
  tell({ kind: 'opened', synthetic: index.identity.synthetic, profiles: index.profiles });
};

const { file }: { file: string } = workerData;
serve(file);
