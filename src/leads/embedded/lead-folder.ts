import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Manifest } from './manifest.ts';

/*
 * The folder of the embedded profiles:
 *
 * - `current.json`, the manifest: names the files that are searched. To replace it is the only thing that makes a
 *   change visible.
 * - `base-*.db`, `delta-*.db`: segments, and `gone-*.bin`: their rows that no search finds any more. None is changed
 *   under its name, but that rows of forgotten people are erased in place.
 * - `forgotten.db`: digests of the names of people who asked to be forgotten.
 * - `staging/`: the import under way, or one that was interrupted. `building-*`: fictional profiles under
 *   way. `refolding-*`: real ones that are written anew.
 * - `keeper.lock`: one change at a time.
 */
export const manifestFile = (folder: string): string => join(folder, 'current.json');
export const stagingFolder = (folder: string): string => join(folder, 'staging');
export const forgottenFile = (folder: string): string => join(folder, 'forgotten.db');
export const lockFile = (folder: string): string => join(folder, 'keeper.lock');
export const buildingMark = 'building-';
export const refoldingMark = 'refolding-';
const removable = /^(?:base|delta|gone|refolding)-/;

/** A name no file or generation had before. */
export const newId = (): string => randomBytes(8).toString('hex');

/**
 * Removes the segments and row lists that `manifest` does not name: replaced ones, and what a change or a writing anew
 * left that did not end. Does nothing without a manifest. For whoever holds the lock. What cannot be removed now, as a file that is open on Windows, is at a later change.
 */
export const removeUnnamed = (folder: string, manifest: Manifest | null): void => {
  // Without one the folder may be a backup that is only half there.
  if (manifest === null) return;
  const named = new Set([manifest.base.file, manifest.delta?.file, manifest.gone?.file]);
  for (const name of readdirSync(folder)) {
    if (!removable.test(name) || named.has(name) || isBeside(name, manifest)) continue;
    try {
      rmSync(join(folder, name), { recursive: true });
    } catch {
      continue;
    }
  }
};

/** SQLite's own files beside a segment in use: a journal holds what an interrupted erasure needs to be undone. */
const isBeside = (name: string, manifest: Manifest | null): boolean =>
  [manifest?.base.file, manifest?.delta?.file].some(
    (file) => file !== undefined && name.startsWith(`${file}-`),
  );
