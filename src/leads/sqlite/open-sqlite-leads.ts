import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../kit/errors.ts';
import { pause } from '../../kit/repeat.ts';
import { ThreadError } from '../../kit/threads/connect-thread.ts';
import { createThreadPool } from '../../kit/threads/thread-pool.ts';
import type { Lead, LeadQuery, LeadSource } from '../lead-source.ts';
import { searchError } from '../search-errors.ts';
import { followFolder, type FollowFolderOptions } from './follow-folder.ts';
import { ProfilesDamagedError } from './profiles-file.ts';
import { tryManifest, type Manifest } from './profiles-folder.ts';
import type { SearchAnswer, SearchCall } from './search-thread.ts';

export interface SqliteLeadsOptions extends FollowFolderOptions {
  /** How long a search waits for profiles in preparation before it is refused. */
  readyWaitMs?: number;
}

const readers = 2;
/** The searches that may wait beside those that run. */
const maxWaiting = 64;
/** A search of words that are frequent and seldom meet takes a fraction of a second. */
const searchTimeoutMs = 2_000;
/** The first search also starts a thread, which takes seconds on a busy machine. */
const firstSearchTimeoutMs = 10_000;
const maxHeapMb = 512;
/** The interval at which a search looks for profiles in preparation. */
const lookMs = 20;

/**
 * Opens the profiles in `folder`, which is created if it is missing: the imported ones, or fictional ones. Missing,
 * outdated or damaged fictional profiles are made in the background. Changes by other processes are picked up within a
 * second. Resolves at once. If there are neither real nor fictional profiles, searches find nobody. Until the first
 * profiles can be searched, searches are refused with `upstream_error` and `status().ready` is false. A search ends after
 * two seconds, and its thread is replaced. Damaged or missing real profiles are waited for, never replaced. Rejects only
 * if the folder cannot be created.
 */
export const openSqliteLeads = async ({
  readyWaitMs = 0,
  ...options
}: SqliteLeadsOptions): Promise<LeadSource> => {
  const { folder, log } = options;
  await mkdir(folder, { recursive: true });
  const closing = new AbortController();
  const pool = createThreadPool<SearchCall, SearchAnswer>({
    file: new URL('./search-thread.ts', import.meta.url),
    size: readers,
    queueLimit: maxWaiting,
    timeoutMs: searchTimeoutMs,
    maxHeapMb,
  });
  const { current, damaged, following, isFictionalNext } = followFolder(options, closing.signal);

  let timeoutMs = firstSearchTimeoutMs;
  const find = async (query: LeadQuery, manifest: Manifest, caller: AbortSignal): Promise<Lead[]> => {
    const over = AbortSignal.any([caller, AbortSignal.timeout(timeoutMs)]);
    let answer: SearchAnswer;
    try {
      answer = await pool.run({ file: join(folder, manifest.file), query }, over);
      timeoutMs = searchTimeoutMs;
    } catch (error) {
      caller.throwIfAborted();
      throw toSearchError(error, over.aborted);
    }
    if ('leads' in answer) return answer.leads;
    const next = nextOf(folder, manifest);
    if (next !== null) return find(query, next, caller);
    log.error({ folder, reason: answer.damage }, 'the lead index is damaged');
    damaged(new ProfilesDamagedError('the imported profiles are damaged').message);
    throw searchError('preparing');
  };

  return {
    search: async (query, { signal: caller }) => {
      const endMs = performance.now() + readyWaitMs;
      while (!caller.aborted && current.state.kind === 'preparing' && performance.now() < endMs) {
        closing.signal.throwIfAborted();
        await pause(lookMs, caller);
      }
      caller.throwIfAborted();
      const { state } = current;
      switch (state.kind) {
        case 'serving':
          return find(query, state.manifest, caller);
        case 'empty':
          return [];
        case 'fault':
          throw searchError('nothing');
        case 'preparing':
          throw searchError('preparing');
      }
    },
    status: () => {
      const { state } = current;
      return state.kind === 'serving'
        ? {
            ready: true,
            synthetic: state.manifest.fictional !== null,
            profiles: state.manifest.profiles,
            revision: state.manifest.generation,
            facets: state.manifest.facets,
          }
        : {
            ready: state.kind === 'empty',
            synthetic: isFictionalNext(),
            profiles: 0,
            revision: state.kind === 'empty' ? 'empty' : 'none',
          };
    },
    close: async () => {
      closing.abort(new AppError('shutting_down', 'The service is stopping. Try again in a moment.'));
      await Promise.all([pool.close(), following]);
    },
  };
};

/** A file is removed a moment after the next one is current. Returns the manifest of that; null if there is none. */
const nextOf = (folder: string, former: Manifest): Manifest | null => {
  const now = tryManifest(folder);
  if (now === null || now.file === former.file) return null;
  // Fictional profiles do not replace real ones.
  return now.fictional === null || former.fictional !== null ? now : null;
};

const toSearchError = (error: unknown, isLate: boolean): AppError => {
  const reason = error instanceof ThreadError ? error.reason : null;
  if (isLate || reason === 'timeout') return searchError('late', error);
  return searchError(reason === 'full' || reason === 'failed' ? reason : 'interrupted', error);
};
