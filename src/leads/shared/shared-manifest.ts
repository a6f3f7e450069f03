import { join } from 'node:path';
import { z } from 'zod';
import { readSealedJson, writeSealedJson, type ReplaceOptions } from '../embedded/sealed-json.ts';
import { LeadKeeperError } from '../lead-keeper.ts';
import { importedSource, type Manifest } from '../embedded/manifest.ts';

const count = z.int().min(0);

const objectName = z.string().regex(/^(?:base|delta|gone|forgotten)-[0-9a-f]{16}\.(?:db|bin)$/);

/** An immutable object of the place. Names are never used again. */
const storedObject = z.object({
  name: objectName,
  /** In hexadecimal. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: count,
});
const segment = storedObject.extend({ profiles: count });

const manifestSchema = z.object({
  format: z.literal(1),
  /** Another one with every publication. */
  generation: z.string(),
  /** Milliseconds since 1970. */
  updatedAt: z.number(),
  /** As in the manifest of a folder. */
  hasErased: z.boolean(),
  /** Null until the first import. */
  base: segment.nullable(),
  delta: segment.nullable(),
  /** `base` and `delta` are the numbers of rows that searches skip. */
  gone: storedObject.extend({ base: count, delta: count }).nullable(),
  /** The list of forgotten people, its number of people and its mark; null until the first import or deletion. */
  forgotten: storedObject.extend({ people: count, mark: z.string() }).nullable(),
  /** Names that only the previous manifest had. Their removal may have been interrupted. */
  former: z.array(objectName),
});

export type StoredObject = z.infer<typeof storedObject>;

/** `current.json` of a place: everything that the gateways of a fleet search. */
export type SharedManifest = z.infer<typeof manifestSchema>;

/** Throws if `text` is no manifest of this version. */
export const parseSharedManifest = (text: string, address: string): SharedManifest => {
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`current.json in ${address} is damaged, or another version of Causeway wrote it`, {
      cause,
    });
  }
};

/** Returns the objects that are files of a folder of profiles. */
export const searchedObjects = ({ base, delta, gone }: SharedManifest): StoredObject[] =>
  [base, delta, gone].filter((object) => object !== null);

export const allObjects = (manifest: SharedManifest | null): StoredObject[] =>
  manifest === null
    ? []
    : [...searchedObjects(manifest), ...(manifest.forgotten === null ? [] : [manifest.forgotten])];

/** Returns the manifest of a folder with the same files; null without profiles. `forgotten` is the folder's own list. */
export const toFolderManifest = (
  { generation, updatedAt, hasErased, base, delta, gone }: SharedManifest,
  { forgotten }: Pick<Manifest, 'forgotten'>,
): Omit<Manifest, 'format'> | null =>
  base === null
    ? null
    : {
        synthetic: false,
        source: importedSource,
        generation,
        updatedAt,
        base: { file: base.name, profiles: base.profiles },
        delta: delta === null ? null : { file: delta.name, profiles: delta.profiles },
        gone: gone === null ? null : { file: gone.name, base: gone.base, delta: gone.delta },
        hasErased,
        forgotten,
      };

/**
 * Throws LeadKeeperError if `found` has another list of forgotten people than the one known before, whose mark is `mark`: people on a
 * lost list would come back.
 */
export const assertSameList = (
  found: SharedManifest | null,
  { mark, address, folder }: { mark: string | null; address: string; folder: string },
): void => {
  if (mark === null || found?.forgotten?.mark === mark) return;
  throw new LeadKeeperError(
    'damaged',
    `${found === null ? 'current.json is missing in' : 'Another list of forgotten people is in'} ${address}. ` +
      `Restore a backup of the place. To begin anew on purpose, remove ${folder} and run "leads delete" again for everybody who ever asked.`,
  );
};

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
