import type { Readable } from 'node:stream';
import type { Clock } from '../kit/clock.ts';
import { randomBase62 } from '../kit/ids.ts';
import type { MediaRole, Store } from '../store/store.ts';
import type { MediaFiles, ReadMediaOptions } from './media-files.ts';
import { extensionOf } from './media-types.ts';

/** 43 base62 characters: in a result URL the id is the only authority to read the bytes. */
const idLength = 43;
/** Saved bytes that no job took by then are removed. */
const reservedMs = 24 * 3_600_000;

export interface SaveMediaInput {
  accountId: string;
  role: MediaRole;
  contentType: string;
  source: Uint8Array | AsyncIterable<Uint8Array>;
  signal: AbortSignal;
}

export interface SavedMedia {
  id: string;
  role: MediaRole;
  contentType: string;
  sizeBytes: number;
  /** Where it is read without a key, once a job has it; images and inputs only. */
  url: string;
}

/** The bytes of inputs and results. A row is reserved before the first byte is written, so nothing is ever orphaned. */
export interface MediaLibrary {
  /**
   * Keeps the bytes durably. They go after a day unless a job takes them (`openJob`, `finishJob`). Throws what the source
   * throws, as it is, and the signal's reason; then nothing is kept.
   */
  save(input: SaveMediaInput): Promise<SavedMedia>;
  /** Gives up saved media that no job took. */
  discard(ids: readonly string[]): Promise<void>;
  /** In bytes; null when they are not there. For inputs, whose rows do not tell it. */
  size(id: string, options?: { signal?: AbortSignal }): Promise<number | null>;
  /** Null when the bytes are not there. */
  read(id: string, options?: ReadMediaOptions): Promise<Readable | null>;
  /** Since when the place of the bytes has been used; what is older may be in another one. */
  usedSince(): Promise<number>;
  urlOf(media: { id: string; contentType: string }): string;
}

export interface MediaLibraryOptions {
  store: Pick<Store, 'reserveMedia' | 'discardMedia'>;
  files: MediaFiles;
  clock: Clock;
  /** `{base_url}`, known once the server listens. */
  publicUrl: () => string;
}

export const createMediaLibrary = ({ store, files, clock, publicUrl }: MediaLibraryOptions): MediaLibrary => {
  const urlOf = ({ id, contentType }: { id: string; contentType: string }): string => {
    const extension = extensionOf(contentType);
    if (extension === null) throw new TypeError(`media of type ${contentType} cannot be served`);
    return `${publicUrl()}/results/${id}.${extension}`;
  };

  return {
    urlOf,
    save: async ({ accountId, role, contentType, source, signal }) => {
      const id = randomBase62(idLength);
      const url = urlOf({ id, contentType });
      signal.throwIfAborted();
      const now = clock.now();
      await store.reserveMedia({ id, accountId, role, contentType, expiresAt: now + reservedMs, now });
      try {
        const sizeBytes = await files.write(id, source, { contentType, signal });
        return { id, role, contentType, sizeBytes, url };
      } catch (error) {
        // Its row goes sooner than in a day; should the store not answer either, the day ends it.
        await Promise.allSettled([store.discardMedia({ ids: [id], now: clock.now() })]);
        throw error;
      }
    },
    discard: async (ids) => {
      if (ids.length > 0) await store.discardMedia({ ids, now: clock.now() });
    },
    size: (id, options) => files.size(id, options),
    read: (id, options) => files.read(id, options),
    usedSince: () => files.usedSince(),
  };
};
