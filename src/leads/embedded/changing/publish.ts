import { newId } from '../lead-folder.ts';
import { writeManifest, type Manifest } from '../manifest.ts';
import { syncFolder } from '../sealed-json.ts';

/**
 * Lets searches see the files that `next` names, all of them on the disk, and returns the manifest. Those of before are
 * the caller's to remove. For whoever holds the lock.
 */
export const publish = (
  folder: string,
  next: Pick<Manifest, 'synthetic' | 'source' | 'base' | 'delta' | 'gone' | 'hasErased' | 'forgotten'>,
): Manifest => {
  const { synthetic, source, base, delta, gone, hasErased, forgotten } = next;
  // The names of the files, before the manifest has them.
  syncFolder(folder);
  return writeManifest(folder, {
    synthetic,
    source,
    generation: newId(),
    updatedAt: Date.now(),
    base,
    delta,
    gone,
    hasErased,
    forgotten,
  });
};
