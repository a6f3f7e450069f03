import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { manifestFile, type Manifest } from './manifest.ts';

/*
 * The folder of the embedded profiles:
 *
 * - `current.json`, the manifest, names the files that are searched. A change becomes visible only by replacing it.
 * - `base-*.db`, `delta-*.db` are segments of real profiles, and `gone-*.bin` their rows that searches skip. These
 *   files are immutable, except that rows of forgotten people are erased in place.
 * - `fictional-*.db` is the segment of fictional profiles.
 * - `forgotten.db` has digests of the names of forgotten people. The manifest says which list it must be.
 * - `staging/` is the running or interrupted import. `building-*` are fictional profiles in progress. `refolding-*` are
 *   real ones that an earlier version left behind.
 * - `keeper.lock` allows one change at a time.
 */
export const stagingFolder = (folder: string): string => join(folder, 'staging');
export const forgottenFile = (folder: string): string => join(folder, 'forgotten.db');
export const lockFile = (folder: string): string => join(folder, 'keeper.lock');
export const buildingMark = 'building-';
export const fictionalMark = 'fictional-';
/** Files that a manifest may name. */
const searched = /^(?:base|delta|gone|fictional)-/;
const realSegment = /^(?:base|delta)-/;
/** Files that only gateways create. */
const ofGateways = /^(?:fictional|refolding)-/;

/** Returns a name that no file or generation has had. */
export const newId = (): string => randomBytes(8).toString('hex');

/** Returns the manifest and the files it may name; none if the folder is missing. */
export const searchedFiles = (folder: string): string[] =>
  listDirectory(folder).filter((name) => name === basename(manifestFile(folder)) || searched.test(name));

/** Returns true if there are segments of real profiles, named by a manifest or not. */
export const hasRealSegments = (folder: string): boolean =>
  listDirectory(folder).some((name) => realSegment.test(name));

const listDirectory = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);

/**
 * Removes the segments and row lists that `manifest` does not name: replaced ones, and the output of unfinished
 * changes. Does nothing without a manifest. The caller must hold the lock. A file that cannot be removed now (open on
 * Windows) is removed by a later change.
 */
export const removeUnnamed = (folder: string, manifest: Manifest | null): void => {
  // Without a manifest the folder may be an incomplete backup.
  if (manifest === null) return;
  removeFiles(folder, { kept: manifest, isOld: (name) => searched.test(name) || ofGateways.test(name) });
};

/**
 * Removes the files that `before` names and `now` does not, and files of gateways. For a gateway that holds the lock.
 * Other files may belong to a backup that is being restored.
 */
export const removeReplaced = (
  folder: string,
  { before, now }: { before: Manifest | null; now: Manifest },
): void =>
  removeFiles(folder, {
    kept: now,
    isOld: (name) => ofGateways.test(name) || (before !== null && isOf(name, before)),
  });

const removeFiles = (
  folder: string,
  { kept, isOld }: { kept: Manifest | null; isOld: (name: string) => boolean },
): void => {
  for (const name of readdirSync(folder)) {
    if (!isOld(name) || (kept !== null && isOf(name, kept))) continue;
    try {
      rmSync(join(folder, name), { recursive: true });
    } catch {
      continue;
    }
  }
};

/**
 * Returns true if `manifest` names the file, or if it is SQLite's own file beside a segment. A journal is needed to
 * undo an interrupted erasure.
 */
const isOf = (name: string, { base, delta, gone }: Manifest): boolean =>
  name === gone?.file ||
  [base.file, delta?.file].some(
    (file) => file !== undefined && (name === file || name.startsWith(`${file}-`)),
  );

const changeFile = /^(?:base|delta|gone)-/;

export const changeFiles = (folder: string): Set<string> =>
  new Set(listDirectory(folder).filter((name) => changeFile.test(name)));

/**
 * Removes the output of a failed change: segments and row lists that are not in `before` and that `manifest` does not
 * name. The caller must have held the lock since `before`.
 */
export const removeMade = (
  folder: string,
  { before, manifest }: { before: ReadonlySet<string>; manifest: Manifest | null },
): void =>
  removeFiles(folder, { kept: manifest, isOld: (name) => changeFile.test(name) && !before.has(name) });
