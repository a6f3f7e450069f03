import { workerData } from 'node:worker_threads';
import { serveCalls, tellEvent } from '../../../kit/threads/serve-calls.ts';
import type { Lead, LeadQuery } from '../../lead-source.ts';
import { ManifestUnreadableError } from '../manifest.ts';
import { SegmentDamagedError } from '../segment/segment-format.ts';
import { followGenerations } from './follow-generations.ts';
import type { ReadEvent } from './messages.ts';

/* The thread that answers searches, one after the other, from the generation that is current. */
const tell: (event: ReadEvent) => void = tellEvent;

const giveUp = (error: unknown): void => {
  if (!(error instanceof SegmentDamagedError || error instanceof ManifestUnreadableError)) throw error;
  tell({ kind: 'damaged', cause: String(error) });
};

const serve = (folder: string): void => {
  const generations = followGenerations(folder, { tell, onGivenUp: giveUp });
  serveCalls((query: LeadQuery): Lead[] => {
    try {
      return generations.search(query);
    } catch (error) {
      if (error instanceof SegmentDamagedError) giveUp(error);
      throw error;
    }
  });
};

const { folder }: { folder: string } = workerData;
try {
  serve(folder);
} catch (error) {
  giveUp(error);
}
