import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ReadDiskRoom } from '../embedded/changing/disk-room.ts';
import { changeFiles, forgottenFile, lockFile, stagingFolder } from '../embedded/lead-folder.ts';
import { manifestFile, writeManifest } from '../embedded/manifest.ts';
import { fetchObject } from './fetch-object.ts';
import { openFileSums, sumsName } from './file-sums.ts';
import {
  searchedObjects,
  toFolderManifest,
  type SharedManifest,
  type StoredObject,
} from './shared-manifest.ts';
import type { SharedPlace } from './shared-place.ts';

export interface FillOptions {
  place: SharedPlace;
  manifest: SharedManifest | null;
  readRoom: ReadDiskRoom;
  signal: AbortSignal;
  /** Called with the bytes that were fetched, and those to fetch. */
  onProgress: (done: number, total: number) => void;
}

/**
 * Makes `folder` the folder of profiles that `manifest` describes, for the engine to change. Files that are there are
 * kept, under the names of the manifest; all others go. An unfinished import stays.
 */
export const fillWorkFolder = async (
  folder: string,
  { place, manifest, readRoom, signal, onProgress }: FillOptions,
): Promise<void> => {
  const sums = openFileSums(folder);
  const wanted = (manifest === null ? [] : searchedObjects(manifest)).map((object) => ({
    object,
    file: object.name,
  }));
  const list = basename(forgottenFile(folder));
  if (manifest !== null && manifest.forgotten !== null)
    wanted.push({ object: manifest.forgotten, file: list });

  const there = new Map<string, string>();
  for (const name of [...changeFiles(folder), ...(existsSync(join(folder, list)) ? [list] : [])])
    // Not of SQLite's journals and of what an interrupted copy left.
    if (/^[^-]+(?:-[^-.]+)?\.(?:db|bin)$/.test(name)) there.set(await sums.of(name), name);
  removeExcept(
    folder,
    wanted.flatMap(({ object }) => there.get(object.sha256) ?? []),
  );

  const missing: { object: StoredObject; file: string }[] = [];
  for (const { object, file } of wanted) {
    const name = there.get(object.sha256);
    if (name === undefined) missing.push({ object, file });
    else if (name !== file) renameSync(join(folder, name), join(folder, file));
  }
  const total = missing.reduce((sum, { object }) => sum + object.bytes, 0);
  let done = 0;
  for (const { object, file } of missing)
    await fetchObject(place, {
      object,
      file: join(folder, file),
      readRoom,
      signal,
      onBytes: (bytes) => onProgress((done += bytes), total),
    });
  const next = manifest && toFolderManifest(manifest, { forgotten: manifest.forgotten?.mark ?? null });
  if (next === null) rmSync(manifestFile(folder), { force: true });
  else writeManifest(folder, next);
};

/** Removes all files but `kept`, the manifest, and those that belong to this machine. */
const removeExcept = (folder: string, kept: readonly string[]): void => {
  const own = [manifestFile(folder), lockFile(folder), stagingFolder(folder)].map((path) => basename(path));
  for (const name of readdirSync(folder))
    if (![...own, sumsName, ...kept].includes(name)) rmSync(join(folder, name), { recursive: true });
};
