import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readDiskRoom, type ReadDiskRoom } from '../embedded/changing/disk-room.ts';
import { isDiskFull, toKeeperError } from '../embedded/changing/to-keeper-error.ts';
import type { KeeperLimits } from '../embedded/keeper-limits.ts';
import { lockKeeper } from '../embedded/keeper-lock.ts';
import { profilesIn } from '../embedded/manifest.ts';
import { openEmbeddedKeeper } from '../embedded/open-embedded-keeper.ts';
import { LeadKeeperError, type ImportRequest, type LeadKeeper, type LeadStats } from '../lead-keeper.ts';
import { publishChanges, type Published } from './publish-changes.ts';
import {
  allObjects,
  assertSameList,
  parseSharedManifest,
  readPlaceRecord,
  toFolderManifest,
  writePlaceRecord,
} from './shared-manifest.ts';
import type { SharedPlace } from './shared-place.ts';
import { fillWorkFolder } from './work-folder.ts';

export interface SharedKeeperOptions {
  /** For the work of this machine; created if it is missing. */
  folder: string;
  limits?: Partial<KeeperLimits>;
  readRoom?: ReadDiskRoom;
}

/**
 * Changes the profiles that a fleet shares in `place`. Each change fills a work folder from the place, changes it like
 * the profiles of a single machine, and publishes it. One change at a time per machine; of several machines, the first
 * to publish wins. Closing closes `place`.
 */
export const openSharedKeeper = async (
  place: SharedPlace,
  options: SharedKeeperOptions,
): Promise<LeadKeeper> => {
  const { folder } = options;
  const work = join(folder, 'profiles');
  await mkdir(work, { recursive: true }).catch((error: unknown) => {
    throw toKeeperError(error, folder);
  });
  const change = async <T>(use: SessionUse, run: (session: Session) => Promise<T>): Promise<T> => {
    const lock = lockKeeper(folder);
    try {
      return await run(await openSession(place, { ...options, ...use, work }));
    } finally {
      lock.release();
    }
  };
  return {
    importLeads: (request) => change(request, ({ engine }) => engine.importLeads(request)),
    stats: () => onPlace({ place, folder }, () => readStats(place, folder)),
    async *exportLeads({ signal }) {
      // With the first row its files are open, so later changes do not touch it.
      const { rows, first } = await change({ signal, isReadOnly: true }, async ({ engine }) => {
        const opened = engine.exportLeads({ signal })[Symbol.asyncIterator]();
        return { rows: opened, first: await opened.next() };
      });
      try {
        for (let row = first; row.done !== true; row = await rows.next()) yield row.value;
      } finally {
        await rows.return?.();
      }
    },
    forget: (usernames, { signal }) =>
      change({ signal }, async (session) => {
        try {
          return await session.engine.forget(usernames, { signal });
        } catch (error) {
          // The people are on the list, although something else failed.
          if (!session.hasFailed) await session.publish();
          throw error;
        }
      }),
    remember: (usernames) =>
      change({ signal: new AbortController().signal }, ({ engine }) => engine.remember(usernames)),
    close: () => place.close(),
  };
};

interface SessionUse extends Pick<ImportRequest, 'signal'> {
  isReadOnly?: true;
}

type Session = Awaited<ReturnType<typeof openSession>>;

/** Fills the work folder, for one change. */
const openSession = async (
  place: SharedPlace,
  {
    folder,
    work,
    signal,
    isReadOnly,
    limits,
    readRoom = readDiskRoom,
  }: SharedKeeperOptions & SessionUse & { work: string },
) => {
  const onProgress = (): void => {};
  let hasFailed = false;
  let before = await onPlace({ place, folder, signal }, async () => {
    if (isReadOnly !== true) await place.assertReplaceable({ signal });
    const found = await readPublished(place, { folder, signal });
    const { manifest } = found;
    await fillWorkFolder(work, { place, manifest, readRoom, signal, onProgress });
    return found;
  });
  const publish = async (): Promise<void> => {
    hasFailed = true;
    before = await onPlace({ place, folder, signal }, () =>
      publishChanges({ place, folder: work, before, signal, onProgress }),
    );
    const { manifest } = before;
    if (manifest !== null) writePlaceRecord(folder, { address: place.address, manifest });
    hasFailed = false;
  };
  return {
    /** Changes the work folder, and publishes that. */
    engine: await openEmbeddedKeeper({
      folder: work,
      ...(limits && { limits }),
      readRoom,
      onChanged: publish,
    }),
    publish,
    get hasFailed(): boolean {
      return hasFailed;
    },
  };
};

/** Runs `work`, and converts its errors to LeadKeeperError. */
const onPlace = async <T>(
  { place: { address }, folder, signal }: { place: SharedPlace; folder: string; signal?: AbortSignal },
  work: () => Promise<T>,
): Promise<T> => {
  try {
    return await work();
  } catch (cause) {
    if (signal?.aborted === true) throw cause;
    if (cause instanceof LeadKeeperError || isDiskFull(cause)) throw toKeeperError(cause, folder);
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new LeadKeeperError(
      'failed',
      `The profiles in ${address} cannot be used (${reason}). Run the command again.`,
      { cause },
    );
  }
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

const readStats = async (place: SharedPlace, folder: string): Promise<LeadStats> => {
  const { manifest } = await readPublished(place, { folder, signal: new AbortController().signal });
  const searched = manifest && toFolderManifest(manifest, { forgotten: null });
  return {
    profiles: searched === null ? 0 : profilesIn(searched),
    synthetic: false,
    forgotten: manifest?.forgotten?.people ?? 0,
    bytes: allObjects(manifest).reduce((sum, { bytes }) => sum + bytes, 0),
    updatedAt: searched === null ? null : searched.updatedAt,
    generation: manifest?.generation ?? null,
  };
};
