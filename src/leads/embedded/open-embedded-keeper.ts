import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ignoreEnoent } from '../../kit/ignore-enoent.ts';
import type { LeadKeeper, LeadStats } from '../lead-keeper.ts';
import type { Lead } from '../lead-source.ts';
import { createYieldToLoop } from './changing/yield-to-loop.ts';
import { readDiskRoom, type ReadDiskRoom } from './changing/disk-room.ts';
import { forgetPeople } from './changing/forget-people.ts';
import { importLeads } from './changing/import-leads.ts';
import { toKeeperError } from './changing/to-keeper-error.ts';
import { readForgottenClaim } from './forgotten-claim.ts';
import { openForgottenPeople, type ForgottenPeople } from './forgotten-people.ts';
import { defaultKeeperLimits, type KeeperLimits } from './keeper-limits.ts';
import { lockKeeper } from './keeper-lock.ts';
import { profilesIn, readManifest } from './manifest.ts';
import { openCurrentGeneration } from './open-generation.ts';
import { createSegmentPool } from './segment-pool.ts';
import { mergeRows } from './sorting/merge-rows.ts';

export interface EmbeddedKeeperOptions {
  folder: string;
  limits?: Partial<KeeperLimits>;
  readRoom?: ReadDiskRoom;
  /**
   * Called when a change is on this disk: the list of forgotten people, searched files, or erased files. The change fails
   * if it rejects. The progress of an import is kept then. A deletion calls it when nobody finds the people any more, and
   * again when their profiles are erased.
   */
  onChanged?: () => Promise<void>;
}

const unchanged = async (): Promise<void> => undefined;

/**
 * Changes the profiles in `folder`, which is created if it is missing. Blocks the calling thread for long periods, so
 * use a separate process beside a gateway that serves the same folder.
 */
export const openEmbeddedKeeper = async ({
  folder,
  readRoom = readDiskRoom,
  onChanged = unchanged,
  ...options
}: EmbeddedKeeperOptions): Promise<LeadKeeper> => {
  const limits = { ...defaultKeeperLimits, ...options.limits };
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw toKeeperError(error, folder);
  });
  return {
    importLeads: (request) => importLeads(folder, { request, limits, readRoom, onChanged }),
    stats: () => measure(folder),
    exportLeads: ({ signal }) => exportLeads(folder, signal),
    forget: (usernames, { signal }) => forgetPeople(folder, { usernames, signal, onChanged }),
    remember: async (usernames) => ({ restored: await restore(folder, { usernames, onChanged }) }),
    close: async () => undefined,
  };
};

const measure = async (folder: string): Promise<LeadStats> => {
  try {
    return await readStats(folder);
  } catch (error) {
    throw toKeeperError(error, folder, {
      describe: (reason) => `The stored profiles cannot be read (${reason}).`,
    });
  }
};

const readStats = async (folder: string): Promise<LeadStats> => {
  const manifest = readManifest(folder);
  return {
    profiles: manifest === null ? 0 : profilesIn(manifest),
    synthetic: manifest?.synthetic ?? false,
    forgotten: readForgottenClaim(folder).hasList() ? useForgotten(folder, (people) => people.count()) : 0,
    bytes: await bytesIn(folder),
    generation: manifest?.generation ?? null,
    updatedAt: manifest === null || manifest.synthetic ? null : manifest.updatedAt,
  };
};

async function* exportLeads(folder: string, signal: AbortSignal): AsyncGenerator<Lead> {
  const pool = createSegmentPool(folder);
  try {
    if (readManifest(folder)?.synthetic === true) return;
    const generation = openCurrentGeneration(folder, pool);
    if (generation === null) return;
    const { base, delta } = generation;
    const parts = [base, ...(delta === null ? [] : [delta])];
    const yieldToLoop = createYieldToLoop(signal);
    for (const batch of mergeRows(parts.map(({ segment, gone }) => segment.scan(gone)))) {
      for (const { lead } of batch) yield lead;
      await yieldToLoop();
    }
  } catch (error) {
    if (signal.aborted) throw error;
    throw toKeeperError(error, folder);
  } finally {
    pool.closeExcept([]);
  }
}

const restore = async (
  folder: string,
  { usernames, onChanged }: { usernames: readonly string[]; onChanged: () => Promise<void> },
): Promise<number> => {
  const lock = lockKeeper(folder);
  try {
    const restored = useForgotten(folder, (people) => people.remove(usernames));
    await onChanged();
    return restored;
  } catch (error) {
    throw toKeeperError(error, folder);
  } finally {
    lock.release();
  }
};

export const useForgotten = <T>(folder: string, use: (people: ForgottenPeople) => T): T => {
  const people = openForgottenPeople(folder);
  try {
    return use(people);
  } finally {
    people.close();
  }
};

/** Sums the sizes of all files below `folder`. Files removed meanwhile count as nothing. */
const bytesIn = async (folder: string): Promise<number> => {
  const entries = (await ignoreEnoent(readdir(folder, { withFileTypes: true }))) ?? [];
  const sizes = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return bytesIn(path);
      const found = await stat(path).catch(() => null);
      return found?.isFile() === true ? found.size : 0;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
};
