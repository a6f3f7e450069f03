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
import { waitForLock } from '../keeper-lock.ts';

/**
 * Rewrites the profiles in `folder` if another version of Unicode folded their words, and returns their number. Returns
 * null if there is nothing to do, or if a backup was restored meanwhile without the lock. The old files are searched
 * until then.
 */
export const refoldProfiles = async ({
  folder,
  scratch,
}: {
  folder: string;
  /** For temporary files; must not exist. If this call does not finish, a later holder of the lock removes it. */
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
