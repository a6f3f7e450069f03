import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../kit/errors.ts';
import type { Log } from '../../kit/log.ts';
import { pause } from '../../kit/repeat.ts';
import { ThreadError } from '../../kit/threads/thread-error.ts';
import { createThreadPool } from '../../kit/threads/thread-pool.ts';
import type { ForgottenPeople } from '../forgotten-people.ts';
import { checkList } from '../keeper-errors.ts';
import { LeadKeeperError } from '../lead-keeper.ts';
import type { Lead, LeadQuery, LeadSource } from '../lead-source.ts';
import { foldingVersion } from '../query/fold-text.ts';
import { searchError } from '../search-error.ts';
import { buildFictional, fictionalSource, type FictionalSet } from './build-fictional.ts';
import { ProfilesDamagedError } from './profiles-file.ts';
import { assertWhole, hasRealFiles, readManifest, stampOf, type Manifest } from './profiles-folder.ts';
import type { SearchAnswer, SearchCall } from './search-thread.ts';

export interface SqliteLeadsOptions {
  /** The folder of the profiles, created if it is missing. */
  folder: string;
  /** The fictional profiles that are searched if no real ones were imported; with 0 profiles none are. */
  fictional: FictionalSet;
  people: Pick<ForgottenPeople, 'read'>;
  /** Erases forgotten people who are still stored. Called where a deletion ended early. */
  sweep: () => Promise<void>;
  log: Log;
  /** How long a search waits for profiles in preparation before it is refused. */
  readyWaitMs?: number;
}

export interface SqliteLeads extends LeadSource {
  /** Resolves when searches can be answered, now or later. Rejects if the source is closed first. */
  whenReady(): Promise<void>;
}

const readers = 2;
/** The searches that may wait beside those that run. */
const maxWaiting = 64;
/** A search of words that are frequent and seldom meet takes a fraction of a second. */
const searchTimeoutMs = 2_000;
const maxHeapMb = 512;
/** The interval between two looks at the folder. */
const lookMs = 250;
const firstRetryMs = 100;
const maxRetryMs = 30_000;

/** What is searched, or why nothing is. */
type State =
  | { kind: 'serving'; manifest: Manifest }
  | { kind: 'preparing' }
  /** `empty`: nobody was imported yet. `fault`: nothing can be searched until the operator changes the folder. */
  | { kind: 'empty' | 'fault'; reason: string };

/**
 * Opens the profiles in `folder`: the imported ones, or fictional ones. Missing, outdated or damaged fictional profiles
 * are made in the background. Changes by other processes are picked up within a second. Resolves at once. If there are
 * neither real nor fictional profiles, searches find nobody. Until the first profiles can be searched, searches are
 * refused with `upstream_error` and `status().ready` is false. A search ends after two seconds, and its thread is
 * replaced. Damaged or missing real profiles are waited for, never replaced. Rejects only if the folder cannot be created.
 */
export const openSqliteLeads = async (options: SqliteLeadsOptions): Promise<SqliteLeads> => {
  const { folder, fictional, people, sweep, log, readyWaitMs = 0 } = options;
  await mkdir(folder, { recursive: true });
  const closing = new AbortController();
  const { signal } = closing;
  let state: State = { kind: 'preparing' };
  let ready = newGate();
  /** Whether this process has seen real profiles here. Fictional ones do not replace them. */
  let hadReal = false;
  /** The folder as the last look has found it. The same is not judged again. */
  let judged: string | null = null;
  /** Whether the fictional profiles have proved damaged. */
  let isDamaged = false;
  const pool = createThreadPool<SearchCall, SearchAnswer>({
    file: new URL('./search-thread.ts', import.meta.url),
    size: readers,
    queueLimit: maxWaiting,
    timeoutMs: searchTimeoutMs,
    maxHeapMb,
  });

  const enter = (next: State): void => {
    if (state.kind === 'serving' && next.kind !== 'serving') ready = newGate();
    state = next;
    if (next.kind === 'serving') ready.resolve();
  };
  /** Waits for the operator. The same reason is logged once. */
  const wait = (kind: 'empty' | 'fault', reason: string): void => {
    if (state.kind !== kind || state.reason !== reason)
      log[kind === 'fault' ? 'error' : 'warn']({ folder, reason }, 'there are no profiles to search');
    enter({ kind, reason });
  };
  const serve = async (manifest: Manifest): Promise<void> => {
    if (manifest.fictional === null) {
      const forgotten = await people.read();
      checkList(manifest, forgotten);
      // Answers are filtered by the list meanwhile.
      if (manifest.swept !== forgotten.revision)
        void sweep().catch((err: unknown) =>
          log.error({ err, folder }, 'forgotten people are not erased yet'),
        );
    }
    // A thread that searches opens it when it is first needed.
    assertWhole(folder, manifest);
    const { generation, profiles } = manifest;
    if (state.kind === 'serving' && state.manifest.generation !== generation)
      log.info({ folder, generation, profiles }, 'searches use new profiles from now on');
    if (manifest.folding !== foldingVersion)
      log.warn(
        { folder },
        'another version indexed the profiles, so rare letters may not be found; the next import indexes them anew',
      );
    enter({ kind: 'serving', manifest });
  };
  const build = async (reason: string | null): Promise<void> => {
    if (reason === null) log.info({ folder }, 'building the lead index in the background');
    else log.warn({ folder, reason }, 'the lead index is unusable and is being rebuilt');
    enter({ kind: 'preparing' });
    await buildFictional(folder, { set: fictional, log, signal });
    isDamaged = false;
  };

  const judge = async (manifest: Manifest | null): Promise<void> => {
    hadReal ||= manifest?.fictional === null;
    if (manifest?.fictional === null) return serve(manifest);
    // A folder that was removed is searched on, as long as its file is open.
    if (hadReal) return state.kind === 'serving' ? undefined : wait('fault', missing);
    if (manifest === null && hasRealFiles(folder)) return wait('fault', unnamed);
    if (fictional.profiles === 0) return wait('empty', notImported);
    if (manifest === null) return build(null);
    if (isDamaged) return build('it is damaged');
    if (manifest.fictional === fictionalSource(fictional)) return serve(manifest);
    return build('it has another set of profiles, or another version made it');
  };
  /** Judges the folder if it has changed. Rejects if it should be judged again soon. */
  const look = async (): Promise<void> => {
    let isRead = false;
    try {
      const manifest = readManifest(folder);
      isRead = true;
      const stamp = stampOf(folder, manifest);
      if (stamp === judged && state.kind !== 'preparing') return;
      judged = stamp;
      await judge(manifest);
    } catch (error) {
      if (signal.aborted) return;
      if (state.kind === 'serving' && state.manifest.fictional === null)
        log.error({ err: error, folder }, 'the new profiles cannot be opened; searches use the former ones');
      else if (error instanceof ProfilesDamagedError || error instanceof LeadKeeperError) {
        if (isRead) return damaged(error.message);
        judged = null;
        // It may have named real profiles.
        return wait('fault', error.message);
      } else log.error({ err: error, folder }, 'the lead index failed');
      judged = null;
      throw error;
    }
  };
  /** Nothing can be searched any more. Fictional profiles are made anew, real ones are waited for. */
  const damaged = (reason: string): void => {
    isDamaged = !hadReal;
    if (hadReal) return wait('fault', reason);
    judged = null;
    enter({ kind: 'preparing' });
  };
  const follow = async (): Promise<void> => {
    let failures = 0;
    while (!signal.aborted) {
      failures = await look().then(
        () => 0,
        () => failures + 1,
      );
      await pause(failures === 0 ? lookMs : Math.min(maxRetryMs, firstRetryMs * 2 ** failures), signal);
    }
  };

  const find = async (query: LeadQuery, manifest: Manifest, caller: AbortSignal): Promise<Lead[]> => {
    const over = AbortSignal.any([caller, AbortSignal.timeout(searchTimeoutMs)]);
    let answer: SearchAnswer;
    try {
      answer = await pool.run({ file: join(folder, manifest.file), query }, over);
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
  const following = follow();

  return {
    search: async (query, { signal: caller }) => {
      caller.throwIfAborted();
      if (state.kind === 'preparing') await Promise.race([ready.promise, pause(readyWaitMs, caller)]);
      caller.throwIfAborted();
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
    status: () =>
      state.kind === 'serving'
        ? {
            ready: true,
            synthetic: state.manifest.fictional !== null,
            profiles: state.manifest.profiles,
            revision: state.manifest.generation,
            facets: state.manifest.facets,
          }
        : {
            ready: state.kind === 'empty',
            synthetic: state.kind === 'preparing' && fictional.profiles > 0 && !hadReal,
            profiles: 0,
            revision: state.kind === 'empty' ? 'empty' : 'none',
          },
    whenReady: async () => {
      signal.throwIfAborted();
      return ready.promise;
    },
    close: async () => {
      const reason = new AppError('shutting_down', 'The service is stopping. Try again in a moment.');
      closing.abort(reason);
      ready.reject(reason);
      await Promise.all([pool.close(), following]);
    },
  };
};

/** A file is removed a moment after the next one is current. Returns the manifest of that; null if there is none. */
const nextOf = (folder: string, former: Manifest): Manifest | null => {
  try {
    const now = readManifest(folder);
    return now !== null && now.file !== former.file && now.fictional === former.fictional ? now : null;
  } catch {
    // The next look at the folder tells why.
    return null;
  }
};

const notImported =
  'no profiles were imported, so every search finds nobody; import some with `leads import`';
const unnamed =
  'there are imported profiles, but no current.json, which names their file; ' +
  'waiting until a backup is completely restored, or an import ends';
const missing =
  'the imported profiles are gone; waiting until they are restored, or others are imported; ' +
  'fictional ones do not replace them before a restart';

/** Creates a promise that is settled from outside. Its rejection may stay unhandled. */
const newGate = (): PromiseWithResolvers<void> => {
  const gate = Promise.withResolvers<void>();
  gate.promise.catch(() => undefined);
  return gate;
};

const toSearchError = (error: unknown, isLate: boolean): AppError => {
  const reason = error instanceof ThreadError ? error.reason : null;
  if (isLate || reason === 'timeout') return searchError('late', error);
  return searchError(reason === 'full' || reason === 'failed' ? reason : 'interrupted', error);
};
