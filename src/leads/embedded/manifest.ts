import { join } from 'node:path';
import { readSealedJson, writeSealedJson } from './sealed-json.ts';

const manifestFormat = 1;

export const manifestFile = (folder: string): string => join(folder, 'current.json');

export interface SegmentFile {
  /** Its name in the folder. */
  file: string;
  profiles: number;
}

/** Which files are searched. A row of `delta` stands for the rows of the same person in `base`, which are gone. */
export interface Manifest {
  format: typeof manifestFormat;
  /** Whether all profiles are generated and fictional. */
  synthetic: boolean;
  /** Where the profiles come from; for generated ones everything that decides what they are. */
  source: string;
  /** Another one with every change. */
  generation: string;
  /** Milliseconds since 1970. */
  updatedAt: number;
  base: SegmentFile;
  delta: SegmentFile | null;
  /** The rows no search finds any more, and how many they are in each segment. */
  gone: { file: string; base: number; delta: number } | null;
  /**
   * Whether the segments have rows of forgotten people, erased, or still to be where the forgetting did not end; their
   * lists tell which words such a row had. The next import writes everything anew.
   */
  hasErased: boolean;
  /** The mark of the list of forgotten people, which must be there then; null where none is known of. */
  forgotten: string | null;
}

/** The source of real profiles. */
export const importedSource = 'imported';

/** The manifest in `folder`; null when there is none. Throws ManifestUnreadableError. */
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

/** As `readManifest`; null also where there is one that cannot be read. */
export const readableManifest = (folder: string): Manifest | null => {
  try {
    return readManifest(folder);
  } catch (error) {
    if (error instanceof ManifestUnreadableError) return null;
    throw error;
  }
};

/** Makes `manifest` the one that is searched by; on the disk when it returns. */
export const writeManifest = (folder: string, manifest: Omit<Manifest, 'format'>): Manifest => {
  const written: Manifest = { format: manifestFormat, ...manifest };
  writeSealedJson(manifestFile(folder), written);
  return written;
};

/** How many profiles are searched. */
export const profilesIn = ({ base, delta, gone }: Manifest): number =>
  base.profiles - (gone?.base ?? 0) + (delta?.profiles ?? 0) - (gone?.delta ?? 0);

export class ManifestUnreadableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ManifestUnreadableError';
  }
}
