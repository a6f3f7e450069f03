import { statSync } from 'node:fs';
import { manifestFile } from './manifest.ts';

/** Returns a value that changes with the manifest; null without a manifest. */
export const manifestStamp = (folder: string): string | null => {
  const found = statSync(manifestFile(folder), { throwIfNoEntry: false, bigint: true });
  return found === undefined ? null : `${found.ino} ${found.mtimeNs} ${found.size}`;
};
