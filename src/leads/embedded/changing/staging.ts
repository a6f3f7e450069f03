import { mkdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../../../kit/json.ts';
import type { ImportRequest } from '../../lead-keeper.ts';
import { stagingFolder } from '../lead-folder.ts';
import { readSealedJson, writeSealedJson } from '../sealed-json.ts';

/*
 * The progress of an import, in a separate folder: a spool of rows, and a checkpoint. A checkpoint is written after its
 * rows are on the disk.
 */
const stagingFormat = 1;

export interface Checkpoint {
  format: typeof stagingFormat;
  /** Identifies the input and the import's options. An import resumes only with the same key. */
  key: string;
  mode: ImportRequest['mode'];
  /** Milliseconds since 1970. */
  startedAt: number;
  /** The resume position in the input; null before its first batch. */
  position: Json;
  rows: number;
  spoolBytes: number;
  /** True after the whole input was read. */
  isRead: boolean;
}

const checkpointFile = (folder: string): string => join(stagingFolder(folder), 'checkpoint.json');
export const spoolFile = (folder: string): string => join(stagingFolder(folder), 'spool');

/** Returns the checkpoint of an unfinished import; null if none can be resumed. */
export const readCheckpoint = (folder: string): Checkpoint | null => {
  try {
    const value = readSealedJson(checkpointFile(folder));
    return value !== null && 'format' in value && value.format === stagingFormat
      ? (value as Checkpoint)
      : null;
  } catch {
    // With a damaged checkpoint, the input is read from its beginning.
    return null;
  }
};

export const writeCheckpoint = (folder: string, checkpoint: Omit<Checkpoint, 'format'>): void =>
  writeSealedJson(checkpointFile(folder), { format: stagingFormat, ...checkpoint });

export const clearStaging = (folder: string): void => {
  removeStaging(folder);
  mkdirSync(stagingFolder(folder), { recursive: true });
};

/** Keeps only the files that a stopped import resumes from, if any. */
export const trimStaging = (folder: string): void => {
  const checkpoint = readCheckpoint(folder);
  if (checkpoint === null) return removeStaging(folder);
  const spool = spoolFile(folder);
  const size = statSync(spool, { throwIfNoEntry: false })?.size ?? 0;
  if (size > checkpoint.spoolBytes) truncateSync(spool, checkpoint.spoolBytes);
};

export const removeStaging = (folder: string): void =>
  rmSync(stagingFolder(folder), { recursive: true, force: true });
