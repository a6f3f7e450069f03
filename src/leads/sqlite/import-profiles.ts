import { existsSync, renameSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { syncToDisk } from '../../kit/files.ts';
import { toFacets } from '../facets.ts';
import type { ForgottenPeople, ForgottenSnapshot } from '../forgotten-people.ts';
import { toOutcome, type ImportOutcome, type ImportRequest } from '../lead-index.ts';
import type { Lead } from '../lead-source.ts';
import { foldingVersion } from '../query/fold-text.ts';
import { createYieldToLoop } from '../yield-to-loop.ts';
import {
  changeTimeoutMs,
  copyProfiles,
  countPeople,
  countValues,
  createWriter,
  type Stored,
  deletePeople,
  findPeople,
  isDamage,
  mergeIndex,
  openToRead,
  openToWrite,
  scanLeads,
} from './profiles-file.ts';
import { newId, writeManifest, type Manifest } from './profiles-folder.ts';

/** Profiles that are sorted and indexed together. More would not be faster, and take more memory. */
const profilesAtOnce = 100_000;

/** Divides profiles into parts that are indexed together; the last one may be empty. */
export function* inBatches(leads: Iterable<Lead>): Generator<Lead[]> {
  let batch: Lead[] = [];
  for (const lead of leads) {
    batch.push(lead);
    if (batch.length < profilesAtOnce) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}

interface WriteProfilesInput {
  folder: string;
  request: ImportRequest;
  /** The profiles that are searched now; null if there are none, or they are fictional or damaged. */
  current: Manifest | null;
  people: ForgottenPeople;
}

/**
 * Writes the next set of profiles and makes it the current one. Searches use the former file meanwhile. An input without
 * a row is usually a mistake, so it changes nothing. The caller holds the lock.
 */
export const writeProfiles = async ({
  folder,
  request: { input, mode, signal, onProgress },
  current,
  people,
}: WriteProfilesInput): Promise<ImportOutcome> => {
  const outcome = { rows: 0, added: 0, updated: 0, repeated: 0, forgotten: 0 };
  const before = current?.profiles ?? 0;
  const forgotten = await people.read();
  const yieldToLoop = createYieldToLoop(signal);
  let next: Awaited<ReturnType<typeof openNext>> | null = null;

  async function* batches(): AsyncGenerator<Lead[]> {
    let waiting: Lead[] = [];
    for await (const leads of input.read({ signal })) {
      outcome.rows += leads.length;
      for (const lead of leads)
        if (forgotten.includes(lead.username)) outcome.forgotten += 1;
        else waiting.push(lead);
      if (waiting.length >= profilesAtOnce) {
        yield waiting;
        waiting = [];
      }
      if (await yieldToLoop()) onProgress?.({ phase: 'reading', done: outcome.rows, total: null });
    }
    if (outcome.rows > 0) yield waiting;
  }
  try {
    for await (const leads of batches()) {
      next ??= await openNext(join(folder, `next-${newId()}.db`), {
        folder,
        mode,
        current,
        since: forgotten.revision,
        signal,
      });
      const { added, updated, repeated } = next.write(leads);
      outcome.added += added;
      outcome.updated += updated;
      outcome.repeated += repeated;
      await yieldToLoop();
    }
    if (next === null) return toOutcome(outcome, { mode, profiles: before, before });
    onProgress?.({ phase: 'indexing', done: 0, total: null });
    const known = next.countReplaced();
    outcome.added -= known;
    outcome.updated += known;
    next.sweep(await people.read());
    for (const _step of next.merge()) await yieldToLoop();
    signal.throwIfAborted();
    return toOutcome(outcome, { mode, profiles: await next.publish(null), before });
  } finally {
    await next?.[Symbol.asyncDispose]();
  }
};

/**
 * Begins the next file at `path`: as a copy of the current one, or empty. `since` is the revision of the list that its new
 * rows are compared with.
 */
export const openNext = async (
  path: string,
  {
    folder,
    mode,
    current,
    since,
    signal,
  }: {
    folder: string;
    mode: ImportRequest['mode'];
    current: Manifest | null;
    since: number;
    signal?: AbortSignal;
  },
) => {
  const former = current === null ? null : join(folder, current.file);
  const isKept = mode === 'upsert' && current !== null && former !== null;
  const isCopy = isKept && current.folding === foldingVersion;
  await using begun = new AsyncDisposableStack();
  begun.defer(() => rm(path, { force: true }));
  if (isCopy) await copyProfiles(former, path, signal);
  const database = begun.use(openToWrite(path, { isNew: !isCopy }));
  if (isKept && !isCopy) await writeAgain(former, createWriter(database, 0), signal);
  const isCompared = !isKept || current.swept === since;
  let swept: Pick<Manifest, 'list' | 'swept'> = { list: '', swept: 0 };
  const write = createWriter(database, Date.now());
  const made = begun.move();
  return {
    write,
    /** Counts the people who are in the file that this one replaces, too. A damaged one has nobody. */
    countReplaced: () => (former === null || isKept ? 0 : countKnown(database, former)),
    /** Deletes the people who were forgotten since they were compared with the list. */
    sweep: ({ ids: [list = ''], revision, includes }: ForgottenSnapshot): void => {
      if (!isCompared || revision !== since) deletePeople(database, findPeople(database, includes));
      swept = { list, swept: revision };
    },
    merge: () => mergeIndex(database),
    /**
     * Makes it the current file. `fictional` determines fictional profiles; null: they are real. Resolves with the number
     * of profiles. The caller holds the lock.
     */
    publish: async (fictional: string | null): Promise<number> => {
      const country = countValues(database, 'country');
      const category = countValues(database, 'category');
      const profiles = countPeople(database);
      database.close();
      await syncToDisk(path);
      const file = `${fictional === null ? 'profiles' : 'fictional'}-${newId()}.db`;
      renameSync(path, join(folder, file));
      await writeManifest(folder, {
        file,
        fictional,
        generation: newId(),
        profiles,
        facets: toFacets({ country, category }),
        folding: foldingVersion,
        ...swept,
        updatedAt: Date.now(),
      });
      return profiles;
    },
    /** Removes it unless it was published. */
    [Symbol.asyncDispose]: () => made.disposeAsync(),
  };
};

const countKnown = (database: DatabaseSync, former: string): number => {
  if (!existsSync(former)) return 0;
  try {
    database.prepare('ATTACH ? AS former').run(former);
    const counted = database.prepare('SELECT count(*) AS known FROM people JOIN former.people USING (key)');
    return Number(counted.get()?.['known']);
  } catch (error) {
    if (isDamage(error)) return 0;
    throw error;
  }
};

/** Stores the profiles of a file whose words another version of Unicode has folded. */
const writeAgain = async (
  from: string,
  write: (leads: readonly Lead[]) => Stored,
  signal: AbortSignal | undefined,
): Promise<void> => {
  using database = openToRead(from, { timeoutMs: changeTimeoutMs });
  const yieldToLoop = createYieldToLoop(signal);
  for (const leads of inBatches(scanLeads(database))) {
    write(leads);
    await yieldToLoop();
  }
};
