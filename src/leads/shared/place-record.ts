import { join } from 'node:path';
import { readSealedJson, writeSealedJson, type ReplaceOptions } from '../embedded/sealed-json.ts';
import { parseSharedManifest, type SharedManifest } from './shared-manifest.ts';

const recordFile = (folder: string): string => join(folder, 'place.json');

/** Returns the last manifest that was taken over from `address` into `folder`; null if none was. Throws if it is damaged. */
export const readPlaceRecord = (folder: string, address: string): SharedManifest | null => {
  const value = readSealedJson(recordFile(folder));
  if (value === null || !('address' in value) || value.address !== address || !('manifest' in value))
    return null;
  return parseSharedManifest(JSON.stringify(value.manifest), address);
};

export const writePlaceRecord = (
  folder: string,
  { address, manifest }: { address: string; manifest: SharedManifest },
  options?: ReplaceOptions,
): void => writeSealedJson(recordFile(folder), { address, manifest }, options);
