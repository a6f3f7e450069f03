import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { readDiskRoom, withinRoom } from '../changing/disk-room.ts';
import { publish } from '../changing/publish.ts';
import { writeGeneration } from '../changing/write-generation.ts';
import { openForgottenPeople } from '../forgotten-people.ts';
import { removeReplaced } from '../lead-folder.ts';
import { readManifest } from '../manifest.ts';
import { isFoldedEarlier, openCurrentGeneration } from '../open-generation.ts';
import { createSegmentPool } from '../segment-pool.ts';
import { waitForLock } from './wait-for-lock.ts';

/**
 * Writes the profiles in `folder` anew when their words were folded by another version of Unicode than this one's, and
 * returns how many they are; null when there is nothing to do, or others were put in their place meanwhile, without the
 * lock: a backup. They are searched as they were until then.
 */
export const refoldProfiles = async ({
  folder,
  scratch,
}: {
  folder: string;
  /** For files in between; must not exist. Whoever holds the lock later removes it where this does not end. */
  scratch: string;
}): Promise<number | null> => {
  const lock = await waitForLock(folder);
  mkdirSync(scratch);
  const pool = createSegmentPool(folder);
  const forgotten = openForgottenPeople(folder);
  try {
    const old = openCurrentGeneration(folder, pool);
    if (old === null || !isFoldedEarlier(old)) return null;
    const { signal } = new AbortController();
    const { outcome, ...files } = await withinRoom(folder, { signal, readRoom: readDiskRoom }, (inner) =>
      writeGeneration({
        folder: scratch,
        spool: { file: join(scratch, 'spool'), bytes: 0, rows: 0 },
        old,
        mode: 'upsert',
        isForgotten: forgotten.includes,
        signal: inner,
      }),
    );
    if (readManifest(folder)?.generation !== old.manifest.generation) return null;
    renameSync(join(scratch, files.base.file), join(folder, files.base.file));
    const now = publish(folder, { ...old.manifest, hasErased: false, forgotten: forgotten.mark, ...files });
    removeReplaced(folder, { before: old.manifest, now });
    return outcome.profiles;
  } finally {
    forgotten.close();
    pool.closeExcept([]);
    lock.release();
  }
};
