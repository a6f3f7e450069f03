import type { Metadata, Sharp } from 'sharp';
import { QueueFullError } from '../../kit/fair-share-limiter.ts';
import { decodeImage, ImageError, type DecodeOptions, type ImageProblem } from './decode-image.ts';

const longestWaitMs = 20_000;

/**
 * Returns null for an image that `work` can decode, by default to its last row, and `busy` when too many are being checked.
 * Rejects only with the signal's reason.
 */
export const checkImage = async (
  bytes: Uint8Array,
  { signal, accountId }: DecodeOptions,
  work: (image: Sharp, header: Metadata) => Promise<unknown> = decodeAll,
): Promise<ImageProblem | 'busy' | null> => {
  const tooLong = AbortSignal.timeout(longestWaitMs);
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

/** The factor by which a WebP is made smaller while it is decoded: a lossy one of 49 megapixels then takes 10 MB, not 380. */
const webpShrink = 8;

/** All rows go through the decoder; next to nothing of them is kept. */
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
    : // To give the last row, the decoder must go through all of them.
      image
        .extract({ left: 0, top: height - 1, width, height: 1 })
        .raw()
        .toBuffer();
