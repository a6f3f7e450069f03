import { join } from 'node:path';
import { readSealedJson, writeSealedJson, type ReplaceOptions } from './sealed-json.ts';

const manifestFormat = 1;

export const manifestFile = (folder: string): string => join(folder, 'current.json');

export interface SegmentFile {
  file: string;
  profiles: number;
}

/** The files that are searched. A row of `delta` replaces the rows of the same person in `base`, which are gone. */
export interface Manifest {
  format: typeof manifestFormat;
  /** True if all profiles are generated and fictional. */
  synthetic: boolean;
  /** The origin of the profiles. For generated ones: everything that determines them. */
  source: string;
  /** Changes with every change. */
  generation: string;
  /** Milliseconds since 1970. */
  updatedAt: number;
  base: SegmentFile;
  delta: SegmentFile | null;
  /** The rows that searches skip, and their number in each segment. */
  gone: { file: string; base: number; delta: number } | null;
  /**
   * True if segments contain rows of forgotten people, erased or (after an interrupted deletion) not yet. Their lists
   * still tell which words such a row had. The next import rewrites everything.
   */
  hasErased: boolean;
  /** The mark of the list of forgotten people, which must then exist; null if no list is known. */
  forgotten: string | null;
}

export const importedSource = 'imported';

/** Returns the manifest in `folder`, or null without one. Throws ManifestUnreadableError. */
export const readManifest = (folder: string): Manifest | null => {
  const file = manifestFile(folder);
  let value: object | null;
  try {
    value = readSealedJson(file);
  } catch (cause) {
    throw new ManifestUnreadableError(`${file} cannot be read`, { cause });
  }
  if (value === null) return null;
  if (!('format' in value) || value.format !== manifestFormat)
    throw new ManifestUnreadableError(`${file} was written by another version`);
  // Earlier versions named no list.
  return { forgotten: null, ...value } as Manifest;
};

/** Like `readManifest`, but also returns null for an unreadable manifest. */
export const readableManifest = (folder: string): Manifest | null => {
  try {
    return readManifest(folder);
  } catch (error) {
    if (error instanceof ManifestUnreadableError) return null;
    throw error;
  }
};

/** Makes `manifest` the current one. It is on the disk when the call returns, unless `options` say otherwise. */
export const writeManifest = (
  folder: string,
  manifest: Omit<Manifest, 'format'>,
  options?: ReplaceOptions,
): Manifest => {
  const written: Manifest = { format: manifestFormat, ...manifest };
  writeSealedJson(manifestFile(folder), written, options);
  return written;
};

/** Returns the number of profiles that are searched. */
export const profilesIn = ({ base, delta, gone }: Pick<Manifest, 'base' | 'delta' | 'gone'>): number =>
  base.profiles - (gone?.base ?? 0) + (delta?.profiles ?? 0) - (gone?.delta ?? 0);

export class ManifestUnreadableError extends Error {
  override readonly name = 'ManifestUnreadableError';
}
