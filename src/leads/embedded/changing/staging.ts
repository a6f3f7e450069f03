import { mkdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../../../kit/json.ts';
import type { ImportRequest } from '../../lead-keeper.ts';
import { stagingFolder } from '../lead-folder.ts';
import { readSealedJson, writeSealedJson } from '../sealed-json.ts';

/*
 * What an import has read so far, in a folder of its own: the rows in a spool, and a checkpoint of how far it is. A
 * checkpoint is written when the rows it speaks of are on the disk.
 */
const stagingFormat = 1;

export interface Checkpoint {
  format: typeof stagingFormat;
  /** The input's, and how it is taken: an import goes on only with what it began with. */
  key: string;
  mode: ImportRequest['mode'];
  /** Milliseconds since 1970. */
  startedAt: number;
  /** Where the input goes on; null before its first batch. */
  position: Json;
  rows: number;
  /** The part of the spool that counts. */
  spoolBytes: number;
  /** Whether the whole input was read. */
  isRead: boolean;
}

const checkpointFile = (folder: string): string => join(stagingFolder(folder), 'checkpoint.json');
export const spoolFile = (folder: string): string => join(stagingFolder(folder), 'spool');

/** The checkpoint of an unfinished import; null when there is none that can be gone on with. */
export const readCheckpoint = (folder: string): Checkpoint | null => {
  try {
    const value = readSealedJson(checkpointFile(folder));
    return value !== null && 'format' in value && value.format === stagingFormat
      ? (value as Checkpoint)
      : null;
  } catch {
    // A damaged checkpoint only means that the input is read from its beginning.
    return null;
  }
};

export const writeCheckpoint = (folder: string, checkpoint: Omit<Checkpoint, 'format'>): void =>
  writeSealedJson(checkpointFile(folder), { format: stagingFormat, ...checkpoint });

/** Makes the folder, empty. */
export const clearStaging = (folder: string): void => {
  removeStaging(folder);
  mkdirSync(stagingFolder(folder), { recursive: true });
};

/** Leaves only what an import that stopped is gone on with from, which may be nothing. */
export const trimStaging = (folder: string): void => {
  const checkpoint = readCheckpoint(folder);
  if (checkpoint === null) return removeStaging(folder);
  const spool = spoolFile(folder);
  const size = statSync(spool, { throwIfNoEntry: false })?.size ?? 0;
  if (size > checkpoint.spoolBytes) truncateSync(spool, checkpoint.spoolBytes);
};

export const removeStaging = (folder: string): void =>
  rmSync(stagingFolder(folder), { recursive: true, force: true });
