import { rmSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { foldingVersion } from '../../query/fold-text.ts';
import type { Lead } from '../../lead-source.ts';
import { createDictionaryWriter } from './dictionary-writer.ts';
import { indexTerms } from '../../query/index-terms.ts';
import { createFollowerWriter } from './follower-table.ts';
import { createListWriter } from './list-writer.ts';
import { mergeRuns } from './merge-runs.ts';
import { createNameWriter } from './name-table.ts';
import { createPrefixUnions } from './prefix-unions.ts';
import {
  maxRows,
  schema,
  profileCrc,
  seal,
  sealNames,
  segmentFormat,
  usualShape,
  type SegmentHead,
  type SegmentShape,
} from './segment-format.ts';
import { createRunTerms, type RunLimits } from '../../query/run-terms.ts';
import { createTermRuns, type TermRuns } from './term-runs.ts';

export interface SegmentRow {
  lead: Lead;
  /** JSON.stringify(lead), stored as it is. */
  json: string;
}

export interface WriteSegmentInput {
  /** Must not exist. The scratch file `<file>-terms` beside it is removed. */
  file: string;
  /** In result order (lead-order.ts), with usernames distinct by usernameKey. */
  rows: AsyncIterable<readonly SegmentRow[]> | Iterable<readonly SegmentRow[]>;
  signal?: AbortSignal;
  /** Called now and then with the number of stored profiles. */
  onProgress?: (profiles: number) => void;
  /** For tests, which cannot use enough profiles to reach every form. */
  shape?: SegmentShape;
  runLimits?: RunLimits;
}

/**
 * Writes a segment and returns its number of profiles. It is on the disk when the promise resolves. Memory grows by
 * only some 20 bytes per profile. Blocks the thread for long periods. On failure the unfinished `file` remains.
 */
export const writeSegment = async (input: WriteSegmentInput): Promise<{ profiles: number }> => {
  const { file, shape = usualShape, signal } = input;
  const scratch = `${file}-terms`;
  const database = new DatabaseSync(file);
  const runs = createTermRuns(scratch);
  try {
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -16384');
    database.exec(schema);
    database.exec('BEGIN');
    const profiles = await writeProfiles(database, runs, input);
    const blocks = await writeTerms(database, runs, { shape, profiles, signal });
    const head: SegmentHead = { format: segmentFormat, unicode: foldingVersion, profiles, blocks, shape };
    database
      .prepare('INSERT INTO segment VALUES (?)')
      .run(seal(Buffer.from(JSON.stringify(head)), sealNames.head));
    database.exec('COMMIT');
    // Writes nothing, and puts the file on the disk.
    writeFileSync(file, '', { flag: 'r+', flush: true });
    return { profiles };
  } finally {
    database.close();
    runs.close();
    rmSync(scratch);
  }
};

const writeProfiles = async (
  database: DatabaseSync,
  runs: TermRuns,
  { rows, runLimits, signal, onProgress }: WriteSegmentInput,
): Promise<number> => {
  const insert = database.prepare('INSERT INTO profiles VALUES (?, ?, ?)');
  const followers = createFollowerWriter(database);
  const names = createNameWriter(database);
  const terms = createRunTerms(runLimits);
  let profiles = 0;
  for await (const batch of rows) {
    signal?.throwIfAborted();
    for (const { lead, json } of batch) {
      if (profiles === maxRows) throw new RangeError(`A segment holds at most ${maxRows} profiles.`);
      const bytes = Buffer.from(json);
      insert.run(profiles, profileCrc(bytes, profiles), bytes);
      followers.add(lead.followers);
      names.add(lead.username);
      terms.add(indexTerms(lead));
      profiles += 1;
      if (terms.isFull) {
        runs.write(terms);
        terms.clear();
      }
    }
    onProgress?.(profiles);
  }
  if (terms.profiles > 0) runs.write(terms);
  followers.end();
  names.end();
  return profiles;
};

/** Terms between two checks of the signal. */
const termsAtOnce = 16_384;

/** Returns the number of dictionary blocks. */
const writeTerms = async (
  database: DatabaseSync,
  runs: TermRuns,
  { shape, profiles, signal }: { shape: SegmentShape; profiles: number; signal: AbortSignal | undefined },
): Promise<number> => {
  const lists = createListWriter(database, { profiles, shape });
  const dictionary = createDictionaryWriter(database, { lists, shape });
  const prefixes = createPrefixUnions(database, { lists, profiles, shape });
  let terms = 0;
  for (const { term, rows } of mergeRuns(runs.read())) {
    prefixes.add(term, rows, dictionary.add(term, rows));
    terms += 1;
    if (terms % termsAtOnce === 0) {
      await nextTurn();
      signal?.throwIfAborted();
    }
  }
  const blocks = dictionary.end();
  prefixes.end();
  return blocks;
};
