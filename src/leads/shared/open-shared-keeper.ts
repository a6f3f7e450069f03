import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readDiskRoom, type ReadDiskRoom } from '../embedded/changing/disk-room.ts';
import { readCheckpoint } from '../embedded/changing/staging.ts';
import { isDiskFull, toKeeperError } from '../embedded/changing/to-keeper-error.ts';
import type { KeeperLimits } from '../embedded/keeper-limits.ts';
import { isKeeperLocked, lockKeeper } from '../embedded/keeper-lock.ts';
import { profilesIn } from '../embedded/manifest.ts';
import { openEmbeddedKeeper } from '../embedded/open-embedded-keeper.ts';
import {
  LeadKeeperError,
  type ImportPhase,
  type ImportRequest,
  type LeadKeeper,
  type LeadStats,
} from '../lead-keeper.ts';
import { readPlaceRecord, writePlaceRecord } from './place-record.ts';
import { publishChanges, type Published } from './publish-changes.ts';
import {
  allObjects,
  assertSameList,
  ListLostError,
  parseSharedManifest,
  toFolderManifest,
} from './shared-manifest.ts';
import type { SharedPlace } from './shared-place.ts';
import { fillWorkFolder } from './work-folder.ts';

export interface SharedKeeperOptions {
  /** For the work of this machine; created if it is missing. */
  folder: string;
  limits?: Partial<KeeperLimits>;
  readRoom?: ReadDiskRoom;
}

interface Session {
  publish(): Promise<void>;
  /** True if `publish` has failed. */
  hasFailed: boolean;
}

/**
 * Changes the profiles that a fleet shares in `place`. Each change fills a work folder from the place, changes it like
 * the profiles of a single machine, and publishes it. One change at a time per machine; of several machines, the first
 * to publish wins. Closing closes `place`.
 */
export const openSharedKeeper = async (
  place: SharedPlace,
  { folder, readRoom = readDiskRoom, limits }: SharedKeeperOptions,
): Promise<LeadKeeper> => {
  const { address } = place;
  const work = join(folder, 'profiles');
  await mkdir(work, { recursive: true }).catch((error: unknown) => {
    throw toKeeperError(error, folder);
  });
  let session: Session | null = null;
  const engine = await openEmbeddedKeeper({
    folder: work,
    ...(limits === undefined ? {} : { limits }),
    readRoom,
    onChanged: async () => session?.publish(),
  });

  const use = async <T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw toPlaceError(error, { address, folder });
    }
  };

  /** Fills the work folder, and runs `work` on it. */
  const change = async <T>(
    { signal, onProgress }: Partial<Pick<ImportRequest, 'signal' | 'onProgress'>>,
    run: (session: Session) => Promise<T>,
  ): Promise<T> => {
    const lock = lockKeeper(folder);
    try {
      const options = { place, folder: work, readRoom, signal: signal ?? new AbortController().signal };
      const tell = (phase: ImportPhase) => (done: number, total: number) =>
        onProgress?.({ phase, done, total, isResumed: false });
      let before = await use(signal, async () => {
        await place.assertReplaceable(options);
        const found = await readPublished(place, { folder, signal: options.signal });
        await fillWorkFolder(work, { ...options, manifest: found.manifest, onProgress: tell('fetching') });
        return found;
      });
      const opened: Session = {
        hasFailed: false,
        publish: async () => {
          try {
            before = await use(signal, () =>
              publishChanges({ ...options, before, onProgress: tell('publishing') }),
            );
            if (before.manifest !== null) writePlaceRecord(folder, { address, manifest: before.manifest });
          } catch (error) {
            opened.hasFailed = true;
            throw error;
          }
        },
      };
      session = opened;
      return await run(opened);
    } finally {
      session = null;
      lock.release();
    }
  };

  return {
    importLeads: (request) => change(request, () => engine.importLeads(request)),
    stats: () => use(undefined, () => readStats(place, { folder, work })),
    async *exportLeads({ signal }) {
      const rows = engine.exportLeads({ signal })[Symbol.asyncIterator]();
      // With the first row its files are open, so later changes do not touch it.
      let row = await change({ signal }, () => rows.next());
      try {
        for (; row.done !== true; row = await rows.next()) yield row.value;
      } finally {
        await rows.return?.();
      }
    },
    forget: (usernames, { signal }) =>
      change({ signal }, async (opened) => {
        try {
          return await engine.forget(usernames, { signal });
        } catch (error) {
          // The people are on the list, although something else failed.
          if (!opened.hasFailed) await opened.publish();
          throw error;
        }
      }),
    remember: (usernames) => change({}, () => engine.remember(usernames)),
    close: () => place.close(),
  };
};

const readPublished = async (
  place: SharedPlace,
  { folder, signal }: { folder: string; signal: AbortSignal },
): Promise<Published> => {
  const { address } = place;
  const found = await place.readManifest({ signal });
  const manifest = found === null ? null : parseSharedManifest(found.text, address);
  const mark = readPlaceRecord(folder, address)?.forgotten?.mark ?? null;
  assertSameList(manifest, { mark, address, folder });
  if (manifest !== null) writePlaceRecord(folder, { address, manifest });
  return { manifest, tag: found?.tag ?? null };
};

const readStats = async (
  place: SharedPlace,
  { folder, work }: { folder: string; work: string },
): Promise<LeadStats> => {
  const { manifest } = await readPublished(place, { folder, signal: new AbortController().signal });
  const searched = manifest && toFolderManifest(manifest, { forgotten: null });
  const checkpoint = isKeeperLocked(folder) ? null : readCheckpoint(work);
  return {
    profiles: searched === null ? 0 : profilesIn(searched),
    synthetic: false,
    forgotten: manifest?.forgotten?.people ?? 0,
    bytes: allObjects(manifest).reduce((sum, { bytes }) => sum + bytes, 0),
    updatedAt: searched === null ? null : searched.updatedAt,
    unfinished: checkpoint === null ? null : { rows: checkpoint.rows, startedAt: checkpoint.startedAt },
    generation: manifest?.generation ?? null,
  };
};

const toPlaceError = (
  cause: unknown,
  { address, folder }: { address: string; folder: string },
): LeadKeeperError => {
  if (cause instanceof ListLostError) return new LeadKeeperError('damaged', `${cause.message}.`, { cause });
  if (cause instanceof LeadKeeperError || isDiskFull(cause)) return toKeeperError(cause, folder);
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new LeadKeeperError(
    'failed',
    `The profiles in ${address} cannot be used (${reason}). Run the command again.`,
    { cause },
  );
};
