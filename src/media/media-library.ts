import type { Clock } from '../kit/clock.ts';
import { randomBase62 } from '../kit/ids.ts';
import type { Media, MediaRole, Store } from '../store/store.ts';
import type { MediaFiles, ReadMediaOptions } from './media-files.ts';
import type { VideoInput } from '../providers/video/video-provider.ts';

const extensions = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/webp', 'webp'],
  ['video/mp4', 'mp4'],
  ['video/quicktime', 'mov'],
  ['audio/mpeg', 'mp3'],
  ['audio/wav', 'wav'],
]);

/** Returns the file name extension of a content type, without a dot; null for a type that is not stored. */
export const extensionOf = (contentType: string): string | null => extensions.get(contentType) ?? null;

/** Base62 characters. Whoever knows the id in a result URL may read the bytes. */
const idLength = 43;
/** Saved bytes are removed after this time if no job took them. */
const reservedMs = 24 * 3_600_000;

export interface SaveMediaInput {
  accountId: string;
  role: MediaRole;
  contentType: string;
  source: Uint8Array | AsyncIterable<Uint8Array>;
  signal: AbortSignal;
}

export interface KeepImageInput extends Pick<SaveMediaInput, 'accountId' | 'contentType' | 'signal'> {
  id: string;
  bytes: Uint8Array;
  /** Epoch milliseconds. */
  expiresAt: number;
}

export interface MediaLibraryOptions {
  store: Pick<Store, 'getMedia' | 'reserveMedia' | 'discardMedia'>;
  files: MediaFiles;
  clock: Clock;
  /** Returns the base URL, which is known when the server listens. */
  publicUrl: () => string;
}

export type MediaLibrary = ReturnType<typeof createMediaLibrary>;

/** Inputs and results: rows and bytes. A row is reserved before its first byte is written, so no bytes are orphaned. */
export const createMediaLibrary = ({ store, files, clock, publicUrl }: MediaLibraryOptions) => {
  /** Returns the public URL, which is valid when a job has the medium; images and inputs only. */
  const urlOf = ({ id, contentType }: { id: string; contentType: string }): string => {
    const extension = extensionOf(contentType);
    if (extension === null) throw new TypeError(`media of type ${contentType} cannot be served`);
    return `${publicUrl()}/results/${id}.${extension}`;
  };

  return {
    urlOf,
    /** Saved bytes last a day unless a job takes them. Keeps nothing if it throws, as the source or the signal does. */
    save: async ({ accountId, role, contentType, source, signal }: SaveMediaInput) => {
      const id = randomBase62(idLength);
      const url = urlOf({ id, contentType });
      signal.throwIfAborted();
      const now = clock.now();
      await store.reserveMedia({ id, accountId, role, contentType, expiresAt: now + reservedMs, now });
      try {
        const sizeBytes = await files.write(id, source, { contentType, signal });
        return { id, role, contentType, sizeBytes, url };
      } catch (error) {
        // The row would expire after a day anyway, so a failure here does not matter.
        await Promise.allSettled([store.discardMedia({ ids: [id], now: clock.now() })]);
        throw error;
      }
    },
    /** Saves an image that no job has, under an id that the caller finds again, until `expiresAt`. */
    keep: async ({ id, accountId, contentType, bytes, expiresAt, signal }: KeepImageInput): Promise<void> => {
      const now = clock.now();
      // An earlier writing may have failed.
      if ((await store.getMedia(id)) === null)
        await store.reserveMedia({ id, accountId, role: 'image', contentType, expiresAt, now });
      await files.write(id, bytes, { contentType, signal });
    },
    /** Lets saved media without a job expire now. */
    discard: async (ids: readonly string[]): Promise<void> => {
      if (ids.length > 0) await store.discardMedia({ ids, now: clock.now() });
    },
    /** Returns the size in bytes, null if they are missing. For inputs, whose rows have no size. */
    size: (id: string, options?: { signal?: AbortSignal }) => files.size(id, options),
    read: (id: string, options?: ReadMediaOptions) => files.read(id, options),
    /** Returns the time of the storage's first use (epoch milliseconds). Older media may be in another storage. */
    usedSince: () => files.usedSince(),
  };
};

/** Converts a saved input to the adapters' form. `load` throws if its bytes are gone. */
export const toVideoInput =
  (library: Pick<MediaLibrary, 'read' | 'urlOf'>) =>
  ({ role, id, contentType }: Pick<VideoInput, 'role' | 'contentType'> & { id: string }): VideoInput => ({
    role,
    contentType,
    url: library.urlOf({ id, contentType }),
    load: async (signal) => {
      const stream = await library.read(id);
      if (stream === null) throw new Error(`the bytes of input ${id} are gone`);
      return Buffer.concat(await stream.toArray({ signal }));
    },
  });

export const isGone = (media: Pick<Media, 'removedAt' | 'expiresAt'>, now: number): boolean =>
  media.removedAt !== null || media.expiresAt <= now;
