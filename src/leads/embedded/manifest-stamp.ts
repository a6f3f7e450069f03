import { statSync } from 'node:fs';
import { manifestFile } from './manifest.ts';

/** Another one when the manifest was replaced; null when there is none. */
export const manifestStamp = (folder: string): string | null => {
  const found = statSync(manifestFile(folder), { throwIfNoEntry: false, bigint: true });
  return found === undefined ? null : `${found.ino} ${found.mtimeNs} ${found.size}`;
};
