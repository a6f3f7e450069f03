import { newId } from '../lead-folder.ts';
import { writeManifest, type Manifest } from '../manifest.ts';
import { syncFolder } from '../sealed-json.ts';

/**
 * Publishes the files of `next`, which are all on the disk, and returns the manifest. The caller removes the former
 * files. The caller must hold the lock.
 */
export const publish = (
  folder: string,
  next: Omit<Manifest, 'format' | 'generation' | 'updatedAt'>,
): Manifest => {
  // The file names must be on the disk before the manifest names them.
  syncFolder(folder);
  return writeManifest(folder, { ...next, generation: newId(), updatedAt: Date.now() });
};
