import type { Metadata, Sharp } from 'sharp';
import { QueueFullError } from '../../kit/fair-share-limiter.ts';
import { decodeImage, ImageError, type DecodeOptions, type ImageProblem } from './decode-image.ts';

const maxWaitMs = 20_000;

/**
 * Returns null for an image that `work` can decode, by default to its last row. Returns `busy` when too many are being
 * checked, so that nothing is known of this one. Rejects with the signal's reason alone.
 */
export const checkImage = async (
  bytes: Uint8Array,
  { signal, accountId }: DecodeOptions,
  work: (image: Sharp, header: Metadata) => Promise<unknown> = decodeAll,
): Promise<ImageProblem | 'busy' | null> => {
  const tooLong = AbortSignal.timeout(maxWaitMs);
  try {
    await decodeImage(bytes, work, { signal: AbortSignal.any([signal, tooLong]), accountId });
    return null;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ImageError) return error.problem;
    if (error instanceof QueueFullError || error === tooLong.reason) return 'busy';
    throw error;
  }
};

/** WebP is decoded at this fraction of its size: a lossy one of 49 megapixels then takes 10 MB in place of 380 MB. */
const webpShrink = 8;

/** Decodes all rows and keeps almost nothing of them. */
const decodeAll = (image: Sharp, { format, width, height }: Metadata): Promise<Buffer> =>
  format === 'webp'
    ? image
        .resize({
          width: Math.ceil(width / webpShrink),
          height: Math.ceil(height / webpShrink),
          fit: 'fill',
          kernel: 'nearest',
        })
        .raw()
        .toBuffer()
    : // The decoder must read all rows to return the last one.
      image
        .extract({ left: 0, top: height - 1, width, height: 1 })
        .raw()
        .toBuffer();
