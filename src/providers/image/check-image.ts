import { imageContentType } from './image-content-type.ts';
import { loadSharp } from './load-sharp.ts';
import { createTurns, TooManyWaitingError } from './create-turns.ts';

/** Decoded, an image of this size takes 200 MB; no upstream takes a larger one. */
export const mostPixels = 50_000_000;

/** Decoding the largest takes two seconds. */
const decodeSeconds = 15;

export type ImageProblem =
  /** Not PNG, JPEG or WebP. */
  | 'other_type'
  | 'too_many_pixels'
  /** Broken or cut off. */
  | 'undecodable'
  /** Too many images are being checked; nothing is known of this one. */
  | 'busy';

/** Null for an image that can be decoded to its last row. Rejects with the signal's reason alone. */
export type CheckImage = (bytes: Uint8Array, signal: AbortSignal) => Promise<ImageProblem | null>;

/** Decodes images off the event loop, a few at once. */
export const createCheckImage = (): CheckImage => {
  const inTurn = createTurns({ atOnce: 2, queueLimit: 200 });
  return async (bytes, signal) => {
    if (imageContentType(bytes) === null) return 'other_type';
    try {
      return await inTurn(() => decode(bytes), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof TooManyWaitingError) return 'busy';
      throw error;
    }
  };
};

const decode = async (bytes: Uint8Array): Promise<ImageProblem | null> => {
  const sharp = await loadSharp();
  // The header is looked at first: what it claims is refused before memory is taken for it.
  const size = await headerOf(sharp(bytes, { limitInputPixels: false }));
  if (size === null) return 'undecodable';
  if (size.width * size.height > mostPixels) return 'too_many_pixels';
  try {
    // To give the last row, the decoder must go through all of them; the rows themselves are not kept.
    await sharp(bytes, { limitInputPixels: mostPixels, failOn: 'error' })
      .extract({ left: 0, top: size.height - 1, width: size.width, height: 1 })
      .timeout({ seconds: decodeSeconds })
      .raw()
      .toBuffer();
    return null;
  } catch {
    return 'undecodable';
  }
};

const headerOf = async (image: {
  metadata(): Promise<{ width?: number; height?: number }>;
}): Promise<{ width: number; height: number } | null> => {
  try {
    const { width = 0, height = 0 } = await image.metadata();
    return width > 0 && height > 0 ? { width, height } : null;
  } catch {
    return null;
  }
};
