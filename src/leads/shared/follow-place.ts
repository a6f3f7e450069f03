import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../../kit/log.ts';
import { pause } from '../../kit/repeat.ts';
import { unlessAborted } from '../../kit/unless-aborted.ts';
import { waitForLock } from '../embedded/keeper-lock.ts';
import { withinRoom, type ReadDiskRoom } from '../embedded/changing/disk-room.ts';
import { changeFiles, removeUnnamed } from '../embedded/lead-folder.ts';
import { manifestFile, readableManifest, writeManifest } from '../embedded/manifest.ts';
import { fetchObject } from './fetch-object.ts';
import { createForgottenCopy, type ForgottenCopy } from './forgotten-copy.ts';
import {
  assertSameList,
  parseSharedManifest,
  readPlaceRecord,
  searchedObjects,
  toFolderManifest,
  writePlaceRecord,
  type SharedManifest,
} from './shared-manifest.ts';
import type { SharedPlace } from './shared-place.ts';

export interface FollowOptions {
  /** The copy, for this gateway alone. Exists. */
  folder: string;
  log: Log;
  readRoom: ReadDiskRoom;
}

const lookMs = 1_000;
/** The longest pause between two looks while the place is away. */
const maxLookMs = 5_000;
const lookTimeoutMs = 10_000;
/** The longest pause before objects are fetched again after a failure. */
const maxFetchPauseMs = 60_000;

/**
 * Follows `place`: looks for a new manifest every second, takes over the list of forgotten people at once, and makes the
 * rest current in `folder` when all of it is there and checked. While the place is away, the copy stays as it is.
 */
export const followPlace = (place: SharedPlace, options: FollowOptions) => {
  const { folder, log } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const searchable = Promise.withResolvers<void>();
  const forgotten = createForgottenCopy(folder);
  const taken = createTakeOver(place, { ...options, forgotten, signal });
  /** Before, fictional profiles could take the place of real ones that are still being fetched. */
  const checkSearchable = (): void => {
    const hasNone = forgotten.isKnown() && (taken.last?.base ?? null) === null;
    if (hasNone || (taken.last !== null && readableManifest(folder)?.synthetic === false))
      searchable.resolve();
  };
  const files = createFileCopy(place, { ...options, signal, onCurrent: checkSearchable });

  const run = async (): Promise<void> => {
    let failures = 0;
    while (!signal.aborted) {
      try {
        await taken.resume();
        checkSearchable();
        await taken.look();
        checkSearchable();
        if (failures > 0)
          log.info({ place: place.address }, 'the place of the shared profiles answers again');
        failures = 0;
      } catch (err) {
        if (signal.aborted) break;
        failures += 1;
        if (failures === 1)
          log.warn(
            { err, place: place.address },
            'the place of the shared profiles cannot be read; searches use the copy on this disk',
          );
      }
      if (taken.last !== null) files.bringTo(taken.last);
      await pause(Math.min(maxLookMs, lookMs * 2 ** Math.max(0, failures - 1)), signal);
    }
  };
  const running = run();

  return {
    /** Unknown until the place, or the copy of an earlier process, was read. */
    forgotten,
    /** Resolves when the folder has profiles of the place, or the place has none. Also resolves when closed first. */
    whenSearchable: searchable.promise,
    close: async (): Promise<void> => {
      closing.abort(new Error('The copy of the shared profiles was closed.'));
      searchable.resolve();
      await Promise.all([running, files.ended()]);
      forgotten.close();
      await place.close();
    },
  };
};

/** Takes over manifests, and with each the list of forgotten people. */
const createTakeOver = (
  place: SharedPlace,
  {
    folder,
    log,
    readRoom,
    forgotten,
    signal,
  }: FollowOptions & { forgotten: ForgottenCopy; signal: AbortSignal },
) => {
  const { address } = place;
  let isResumed = false;
  let last: SharedManifest | null = null;
  let tag: string | null = null;
  let reading: ReturnType<SharedPlace['readManifest']> | null = null;

  const use = async (manifest: SharedManifest): Promise<void> => {
    const list = manifest.forgotten;
    if (list !== null && (list.name !== last?.forgotten?.name || !forgotten.isKnown()))
      await fetchObject(place, {
        object: list,
        file: join(folder, list.name),
        // It is checked whenever it is opened, and nobody waits for a busy disk.
        isDurable: false,
        readRoom,
        signal,
      });
    await forgotten.use(list);
    writePlaceRecord(folder, { address, manifest }, { isDurable: false });
    last = manifest;
  };

  return {
    /** The last manifest that was taken over, and whose list is in use; null: none so far. */
    get last(): SharedManifest | null {
      return last;
    },
    /** Opens the copy of an earlier process at the first call. */
    resume: async (): Promise<void> => {
      if (!isResumed) last = await resumeCopy(forgotten, { place, folder, log });
      isResumed = true;
    },
    /** Reads the manifest of the place, and takes it over if it is another one. */
    look: async (): Promise<void> => {
      const timed = AbortSignal.any([signal, AbortSignal.timeout(lookTimeoutMs)]);
      // A disk that hangs keeps one read waiting, not one more with each look.
      reading ??= place.readManifest({ signal: timed }).finally(() => {
        reading = null;
      });
      const found = await unlessAborted(reading, timed);
      if (found !== null && found.tag === tag) return;
      const manifest = found === null ? null : parseSharedManifest(found.text, address);
      assertSameList(manifest, { mark: last?.forgotten?.mark ?? null, address, folder });
      if (manifest !== null) await use(manifest);
      else if (last === null) await forgotten.use(null);
      tag = found?.tag ?? null;
    },
  };
};

/** Opens the copy of an earlier process. Null: there is none of this place, or its list cannot be read. */
const resumeCopy = async (
  forgotten: ForgottenCopy,
  { place, folder, log }: { place: SharedPlace; folder: string; log: Log },
): Promise<SharedManifest | null> => {
  try {
    const manifest = readPlaceRecord(folder, place.address);
    if (manifest !== null) {
      await forgotten.use(manifest.forgotten);
      return manifest;
    }
  } catch (err) {
    log.warn({ err, folder }, 'the copy of the shared profiles is not usable; it is fetched again');
  }
  // Profiles of another place, or without their list, must not be searched.
  if (readableManifest(folder)?.synthetic !== true) {
    rmSync(manifestFile(folder), { force: true });
    for (const name of changeFiles(folder)) rmSync(join(folder, name), { force: true });
  }
  return null;
};

const createFileCopy = (
  place: SharedPlace,
  {
    folder,
    log,
    readRoom,
    signal,
    onCurrent,
  }: FollowOptions & { signal: AbortSignal; onCurrent: () => void },
) => {
  let underWay: Promise<void> | null = null;
  let fetching: { name: string; controller: AbortController } | null = null;
  let wanted: SharedManifest | null = null;
  let failures = 0;
  let retryAtMs = 0;

  const fetchMissing = async (manifest: SharedManifest, within: AbortSignal): Promise<void> => {
    for (const object of searchedObjects(manifest)) {
      if (hasFile(folder, object)) continue;
      const controller = new AbortController();
      fetching = { name: object.name, controller };
      await fetchObject(place, {
        object,
        file: join(folder, object.name),
        readRoom,
        signal: AbortSignal.any([within, controller.signal]),
      }).finally(() => {
        fetching = null;
      });
    }
  };
  const bring = async (manifest: SharedManifest): Promise<void> => {
    await withinRoom(folder, { signal, readRoom }, (within) => fetchMissing(manifest, within));
    const next = toFolderManifest(manifest, { forgotten: null });
    if (next === null || manifest !== wanted) return;
    const lock = await waitForLock(folder);
    try {
      // The segments are on the disk. A manifest that is lost is written again, and no fsync blocks the gateway.
      removeUnnamed(folder, writeManifest(folder, next, { isDurable: false }));
    } finally {
      lock.release();
    }
    onCurrent();
  };
  const start = async (manifest: SharedManifest): Promise<void> => {
    try {
      await bring(manifest);
      failures = 0;
    } catch (err) {
      if (signal.aborted || manifest !== wanted) return;
      failures += 1;
      retryAtMs = performance.now() + Math.min(maxFetchPauseMs, lookMs * 2 ** (failures - 1));
      log.error(
        { err, place: place.address },
        'the shared profiles cannot be fetched; searches use the former ones',
      );
    }
  };

  return {
    /** Starts to fetch and switch to these files, unless they are current or being fetched. Never throws. */
    bringTo: (manifest: SharedManifest): void => {
      if (manifest !== wanted) retryAtMs = 0;
      wanted = manifest;
      // An object that the new manifest names, too, is fetched to its end.
      if (fetching !== null && !searchedObjects(manifest).some(({ name }) => name === fetching?.name))
        fetching.controller.abort(new Error('The object was replaced.'));
      if (underWay !== null || performance.now() < retryAtMs || isCurrent(folder, manifest)) return;
      underWay = start(manifest).finally(() => {
        underWay = null;
      });
    },
    ended: async (): Promise<void> => underWay ?? undefined,
  };
};

const hasFile = (folder: string, { name, bytes }: { name: string; bytes: number }): boolean =>
  statSync(join(folder, name), { throwIfNoEntry: false })?.size === bytes;

const isCurrent = (folder: string, manifest: SharedManifest): boolean =>
  manifest.base === null ||
  (readableManifest(folder)?.generation === manifest.generation &&
    searchedObjects(manifest).every((object) => hasFile(folder, object)));
