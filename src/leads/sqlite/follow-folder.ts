import { pause } from '../../kit/repeat.ts';
import { checkBeforeServing, LeadIndexError, type ServeOptions } from '../lead-index.ts';
import { buildFictional, fictionalSource, type FictionalSet } from './build-fictional.ts';
import { ProfilesDamagedError } from './profiles-file.ts';
import {
  assertWhole,
  hasOnlyFictional,
  hasRealFiles,
  readManifest,
  stampOf,
  tryManifest,
  type Manifest,
} from './profiles-folder.ts';

export interface FollowFolderOptions extends ServeOptions {
  folder: string;
  /** The fictional profiles that are searched if no real ones were imported; with 0 profiles none are. */
  fictional: FictionalSet;
}

/** What is searched, or why nothing is. */
export type FolderState =
  | { kind: 'serving'; manifest: Manifest }
  | { kind: 'preparing' }
  /** `empty`: nobody was imported yet. `fault`: nothing can be searched until the operator changes the folder. */
  | { kind: 'empty' | 'fault'; reason: string };

/** The interval between two looks at the folder. */
const lookMs = 250;
const firstRetryMs = 100;
const maxRetryMs = 30_000;

/** Follows the profiles in a folder until `signal` aborts: imports, deletions, restored backups. */
export const followFolder = (options: FollowFolderOptions, signal: AbortSignal) => {
  const { folder, fictional, log } = options;
  const current = createState(options);
  /** Whether this process has seen real profiles here. Fictional ones do not replace them. */
  let hadReal = false;
  /** The folder as the last look has found it. The same is not judged again. */
  let judged: string | null = null;
  /** Whether the fictional profiles, or their manifest, have proved damaged. */
  let isDamaged = false;
  let isStarting = true;

  const build = async (reason: string | null): Promise<void> => {
    if (reason === null) log.info({ folder }, 'building the lead index in the background');
    else log.warn({ folder, reason }, 'the lead index is unusable and is being rebuilt');
    current.enter({ kind: 'preparing' });
    if (await buildUnlessReal(options, signal)) isDamaged = false;
  };
  const judge = async (manifest: Manifest | null): Promise<void> => {
    hadReal ||= manifest?.fictional === null;
    if (manifest?.fictional === null) return serve(manifest, options, current);
    // A folder that was removed is searched on, as long as its file is open.
    if (hadReal) return current.state.kind === 'serving' ? undefined : current.wait('fault', missing);
    if (manifest === null && hasRealFiles(folder)) return current.wait('fault', unnamed);
    if (fictional.profiles === 0) return current.wait('empty', notImported);
    if (isDamaged) return build('it is damaged');
    if (manifest === null) return build(null);
    if (manifest.fictional === fictionalSource(fictional)) return serve(manifest, options, current);
    return build('it has another set of profiles, or another version made it');
  };
  /** Nothing can be searched any more. Fictional profiles are made anew, real ones are waited for. */
  const damaged = (reason: string): void => {
    isDamaged = !hadReal;
    if (hadReal) return current.wait('fault', reason);
    judged = null;
    current.enter({ kind: 'preparing' });
  };
  /** Judges the folder if it has changed. Rejects if it should be judged again soon. */
  const look = async (): Promise<void> => {
    let isRead = false;
    try {
      const isLost = isStarting && isManifestLost(folder);
      isStarting = false;
      isDamaged ||= isLost;
      const manifest = isLost ? null : readManifest(folder);
      isRead = true;
      const stamp = stampOf(folder, manifest);
      if (stamp === judged && current.state.kind !== 'preparing') return;
      judged = stamp;
      await judge(manifest);
    } catch (error) {
      if (signal.aborted) return;
      const { state } = current;
      const isLasting = error instanceof ProfilesDamagedError || error instanceof LeadIndexError;
      const servesReal = state.kind === 'serving' && state.manifest.fictional === null;
      if (isLasting && isRead && !servesReal) return damaged(error.message);
      judged = null;
      // A manifest that cannot be read may have named real profiles.
      if (isLasting && !servesReal) return current.wait('fault', error.message);
      const what = servesReal
        ? 'the new profiles cannot be opened; searches use the former ones'
        : 'the lead index failed';
      log.error({ err: error, folder }, what);
      throw error;
    }
  };
  return {
    current,
    damaged,
    /** Resolves when it has ended. */
    following: repeatLook(look, signal),
    /** Whether profiles are fictional that will be ready soon. */
    isFictionalNext: (): boolean => current.state.kind === 'preparing' && fictional.profiles > 0 && !hadReal,
  };
};

/**
 * Whether a manifest cannot be read that can only have named fictional profiles. That is asked at the start alone: later it
 * may be the beginning of a backup that is being restored.
 */
const isManifestLost = (folder: string): boolean => {
  try {
    readManifest(folder);
    return false;
  } catch (error) {
    return error instanceof ProfilesDamagedError && hasOnlyFictional(folder);
  }
};

const repeatLook = async (look: () => Promise<void>, signal: AbortSignal): Promise<void> => {
  let failures = 0;
  while (!signal.aborted) {
    failures = await look().then(
      () => 0,
      () => failures + 1,
    );
    await pause(failures === 0 ? lookMs : Math.min(maxRetryMs, firstRetryMs * 2 ** failures), signal);
  }
};

/** Builds the fictional profiles. Resolves with false, in the middle of it, if real ones were imported. */
const buildUnlessReal = async (
  { folder, fictional: set, log }: FollowFolderOptions,
  signal: AbortSignal,
): Promise<boolean> => {
  const replaced = new AbortController();
  using _watching = setInterval(() => {
    if (tryManifest(folder)?.fictional === null) replaced.abort();
  }, lookMs);
  try {
    await buildFictional(folder, { set, log, signal: AbortSignal.any([signal, replaced.signal]) });
    return true;
  } catch (error) {
    if (!replaced.signal.aborted) throw error;
    return false;
  }
};

const createState = ({ folder, log }: Pick<FollowFolderOptions, 'folder' | 'log'>) => {
  let state: FolderState = { kind: 'preparing' };
  const enter = (next: FolderState): void => {
    state = next;
  };
  return {
    get state(): FolderState {
      return state;
    },
    enter,
    /** Waits for the operator. The same reason is logged once. */
    wait: (kind: 'empty' | 'fault', reason: string): void => {
      if (state.kind !== kind || state.reason !== reason)
        log[kind === 'fault' ? 'error' : 'warn']({ folder, reason }, 'there are no profiles to search');
      enter({ kind, reason });
    },
  };
};

/** Searches use the profiles of `manifest` from now on. */
const serve = async (
  manifest: Manifest,
  options: FollowFolderOptions,
  current: ReturnType<typeof createState>,
): Promise<void> => {
  const { folder, log } = options;
  // A thread that searches opens it when it is first needed.
  assertWhole(folder, manifest);
  if (manifest.fictional === null) await checkBeforeServing(manifest, options);
  const { generation, profiles } = manifest;
  if (current.state.kind === 'serving' && current.state.manifest.generation !== generation)
    log.info({ folder, generation, profiles }, 'searches use new profiles from now on');
  current.enter({ kind: 'serving', manifest });
};

const notImported =
  'no profiles were imported, so every search finds nobody; import some with `leads import`';
const unnamed =
  'there are imported profiles, but no current.json, which names their file; ' +
  'waiting until a backup is completely restored, or an import ends';
const missing =
  'the imported profiles are gone; waiting until they are restored, or others are imported; ' +
  'fictional ones do not replace them before a restart';
