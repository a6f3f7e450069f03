import { LRUCache } from 'lru-cache';
import { sha256 } from '../../kit/ids.ts';
import { isGone } from '../../media/media-library.ts';
import { decodeImage, type DecodeOptions } from '../../providers/image/decode-image.ts';
import type { Media } from '../../store/store.ts';
import type { Call, Services } from '../call.ts';

/** A small picture, for the conversation of an assistant. */
export interface Preview {
  /** In base64. */
  data: string;
  mimeType: typeof previewType;
}

const previewType = 'image/webp';
/** In base64 these are 80,000 characters. */
const maxPreviewBytes = 60_000;
/** The last of these is below the limit whatever the picture shows. */
const sizes = [
  { side: 1024, quality: 75 },
  { side: 768, quality: 65 },
  { side: 512, quality: 55 },
  { side: 256, quality: 40 },
];
/** Larger pictures have a link alone. */
const maxImageBytes = 32 * 1024 ** 2;
/** The longest that an answer waits for its picture. */
const maxWaitMs = 5_000;

/** A small form that could not be made or kept is not made again within this time. */
const pauseMs = 60_000;

type PreviewServices = Pick<Services, 'store' | 'media' | 'clock' | 'log'>;

/**
 * Returns a function that finds a small form of the image with a result URL. It is made at the first reading, and kept as
 * long as the image. Null if it cannot be had now, which is logged; never rejects.
 */
export const createPreviewOf = ({ store, media, clock, log }: PreviewServices) => {
  const failed = new LRUCache<string, true>({ max: 1_000, ttl: pauseMs });
  const makeAndKeep = async (
    { id, previewId, image }: { id: string; previewId: string; image: Media },
    signal: AbortSignal,
  ): Promise<Preview | null> => {
    const bytes = await readAll(media, id, signal);
    if (bytes === null) return null;
    const { accountId, expiresAt } = image;
    const made = await shrink(bytes, { signal, accountId });
    await media
      .keep({ id: previewId, accountId, contentType: previewType, bytes: made, expiresAt, signal })
      // Another call may keep it at this moment.
      .catch((error: unknown) => {
        failed.set(previewId, true);
        log.warn({ err: error }, 'the small form of an image was not kept');
      });
    return toPreview(made);
  };
  return async (
    url: string,
    { memory, signal: left }: Pick<Call, 'memory' | 'signal'>,
  ): Promise<Preview | null> => {
    const id = /\/results\/([0-9A-Za-z]{20,64})\.[0-9a-z]{2,4}$/.exec(url)?.[1];
    if (id === undefined) return null;
    const previewId = previewIdOf(id);
    const signal = AbortSignal.any([left, AbortSignal.timeout(maxWaitMs)]);
    try {
      const image = await store.getMedia(id);
      if (image === null || image.role !== 'image' || image.jobId === null) return null;
      if (isGone(image, clock.now()) || image.sizeBytes > maxImageBytes) return null;
      const kept = await readAll(media, previewId, signal);
      if (kept !== null) return toPreview(kept);
      if (failed.has(previewId)) return null;
      // The bytes as they are read, and together.
      await memory.take(image.sizeBytes * 2, signal);
      return await makeAndKeep({ id, previewId, image }, signal);
    } catch (error) {
      if (!left.aborted) failed.set(previewId, true);
      log[left.aborted ? 'debug' : 'warn']({ err: error }, 'an image is answered without its small form');
      return null;
    }
  };
};

/** It begins as that of its image, so that on a disk both are in one folder, which is there before a first reading. */
export const previewIdOf = (id: string): string => id.slice(0, 2) + sha256(`preview of ${id}`).slice(2);

const readAll = async (
  media: Pick<Services['media'], 'read'>,
  id: string,
  signal: AbortSignal,
): Promise<Buffer | null> => {
  const stream = await media.read(id, { signal });
  return stream === null ? null : Buffer.concat(await stream.toArray({ signal }));
};

const toPreview = (bytes: Buffer): Preview => ({ data: bytes.toString('base64'), mimeType: previewType });

const shrink = async (bytes: Buffer, options: DecodeOptions): Promise<Buffer> => {
  for (const { side, quality } of sizes) {
    const small = await decodeImage(
      bytes,
      (image) =>
        image
          .resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true })
          .webp({ quality })
          .toBuffer(),
      options,
    );
    if (small.byteLength <= maxPreviewBytes) return small;
  }
  throw new Error('the small form of an image is too large');
};
