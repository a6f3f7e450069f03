import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Readable } from 'node:stream';
import { readS3Config, s3Url, type S3Config, type S3Values } from '../../http/s3/s3-settings.ts';
import { ConfigError } from '../../kit/errors.ts';

/** A bucket, or a folder that all machines reach. */
export type PlaceConfig = { kind: 's3'; s3: S3Config } | { kind: 'folder'; path: string };

/** Reads LEADS_URL. Throws ConfigError. */
export const readPlaceConfig = (url: string, values: S3Values): PlaceConfig => {
  if (s3Url.test(url)) return { kind: 's3', s3: readS3Config('LEADS_URL', url, values) };
  if (!/^[a-z][a-z\d+.-]+:/i.test(url)) return { kind: 'folder', path: resolve(url) };
  try {
    return { kind: 'folder', path: fileURLToPath(url) };
  } catch (cause) {
    throw new ConfigError('LEADS_URL: must be s3://BUCKET/PREFIX, or a folder as a path or file: URL', {
      cause,
    });
  }
};

export interface FoundManifest {
  text: string;
  tag: string;
}

/**
 * The place where a fleet shares its profiles: immutable objects, and `current.json`, the only thing that changes.
 * Everything rejects with the signal's reason, or an error that says what failed.
 */
export interface SharedPlace {
  /** For people, without credentials. */
  readonly address: string;
  /** Null: there is none. */
  readManifest(options: { signal: AbortSignal }): Promise<FoundManifest | null>;
  /** Replaces the manifest that has `tag`, or makes the first one (null). Resolves with the new tag; null: it was changed. */
  replaceManifest(text: string, options: { tag: string | null; signal: AbortSignal }): Promise<string | null>;
  /** Rejects if this process may not write here, or if the service would let two writers overwrite each other. */
  assertReplaceable(options: { signal: AbortSignal }): Promise<void>;
  get(name: string, options: { signal: AbortSignal }): Promise<Readable>;
  /** Stores `source` under a new name. It is durable when this resolves. */
  put(name: string, source: AsyncIterable<Uint8Array>, options: { signal: AbortSignal }): Promise<void>;
  /** Does nothing if there is no such object. */
  remove(name: string, options: { signal: AbortSignal }): Promise<void>;
  /** Lists the objects, also unfinished ones, that were last written before `olderThan`. */
  listOld(options: { olderThan: number; signal: AbortSignal }): Promise<string[]>;
  close(): Promise<void>;
}

export const manifestName = 'current.json';

/** Returns true for the names of objects, and of their unfinished copies. */
export const isObjectName = (name: string): boolean =>
  /^(?:base|delta|gone|forgotten)-[0-9a-f]{16}\.(?:db|bin)(?:\.part)?$/.test(name);

export const addressOf = (config: PlaceConfig): string =>
  config.kind === 's3' ? `s3://${config.s3.bucket}/${config.s3.prefix}` : config.path;

/** Loads only the client that is needed. */
export const openPlace = async (config: PlaceConfig): Promise<SharedPlace> => {
  if (config.kind === 's3') {
    const { openS3Place } = await import('./s3-place.ts');
    return openS3Place(config.s3);
  }
  const { openFolderPlace } = await import('./folder-place.ts');
  return openFolderPlace(config.path);
};
