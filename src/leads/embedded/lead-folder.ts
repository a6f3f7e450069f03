import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { manifestFile, type Manifest } from './manifest.ts';

/*
 * The folder of the embedded profiles:
 *
 * - `current.json`, the manifest: names the files that are searched. To replace it is the only thing that makes a
 *   change visible.
 * - `base-*.db`, `delta-*.db`: segments of real profiles, and `gone-*.bin`: their rows that no search finds any more.
 *   None is changed under its name, but that rows of forgotten people are erased in place.
 * - `fictional-*.db`: the segment of fictional profiles.
 * - `forgotten.db`: digests of the names of people who asked to be forgotten. The manifest tells which list it must
 *   be.
 * - `staging/`: the import under way, or one that was interrupted. `building-*`: fictional profiles under
 *   way. `refolding-*`: real ones that a gateway writes anew.
 * - `keeper.lock`: one change at a time.
 */
export const stagingFolder = (folder: string): string => join(folder, 'staging');
export const forgottenFile = (folder: string): string => join(folder, 'forgotten.db');
export const lockFile = (folder: string): string => join(folder, 'keeper.lock');
export const buildingMark = 'building-';
export const refoldingMark = 'refolding-';
export const fictionalMark = 'fictional-';
/** Files that a manifest may name. */
const searched = /^(?:base|delta|gone|fictional)-/;
const realSegment = /^(?:base|delta)-/;
/** What only gateways make. */
const ofGateways = /^(?:fictional|refolding)-/;

/** A name no file or generation had before. */
export const newId = (): string => randomBytes(8).toString('hex');

/** The manifest and the files it may name; none where the folder is missing. */
export const searchedFiles = (folder: string): string[] =>
  namesIn(folder).filter((name) => name === basename(manifestFile(folder)) || searched.test(name));

/** Whether segments of real profiles are there, be they named by a manifest or not. */
export const hasRealSegments = (folder: string): boolean =>
  namesIn(folder).some((name) => realSegment.test(name));

const namesIn = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);

/**
 * Removes the segments and row lists that `manifest` does not name: replaced ones, and what a change or a writing anew
 * left that did not end. Does nothing without a manifest. For a keeper that holds the lock. What cannot be removed now,
 * as a file that is open on Windows, is at a later change.
 */
export const removeUnnamed = (folder: string, manifest: Manifest | null): void => {
  // Without one the folder may be a backup that is only half there.
  if (manifest === null) return;
  removeFiles(folder, { kept: manifest, isOld: (name) => searched.test(name) || ofGateways.test(name) });
};

/**
 * Removes what `before` names and `now` does not, and what gateways left. For a gateway that holds the lock: any other
 * file may be of a backup that is being restored.
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
  { kept, isOld }: { kept: Manifest; isOld: (name: string) => boolean },
): void => {
  for (const name of readdirSync(folder)) {
    if (!isOld(name) || isOf(name, kept)) continue;
    try {
      rmSync(join(folder, name), { recursive: true });
    } catch {
      continue;
    }
  }
};

/**
 * Whether a file is named by `manifest`, or is SQLite's own beside a segment: a journal holds what an interrupted
 * erasure needs to be undone.
 */
const isOf = (name: string, { base, delta, gone }: Manifest): boolean =>
  name === gone?.file ||
  [base.file, delta?.file].some(
    (file) => file !== undefined && (name === file || name.startsWith(`${file}-`)),
  );

const changeFile = /^(?:base|delta|gone)-/;

/** The names of the segments and row lists in `folder`. */
export const changeFiles = (folder: string): Set<string> =>
  new Set(namesIn(folder).filter((name) => changeFile.test(name)));

/**
 * Removes the segments and row lists that were not there `before` and that `manifest` does not name: what a change made
 * that failed. For whoever holds the lock since before.
 */
export const removeMade = (
  folder: string,
  { before, manifest }: { before: ReadonlySet<string>; manifest: Manifest | null },
): void => {
  for (const name of changeFiles(folder))
    if (!before.has(name) && (manifest === null || !isOf(name, manifest)))
      rmSync(join(folder, name), { force: true });
};
