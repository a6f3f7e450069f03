import type SharpLibrary from 'sharp';
import type { Metadata, Sharp } from 'sharp';
import { createFairShareLimiter, QueueFullError } from '../../kit/fair-share-limiter.ts';
import { memoizeAsync } from '../../kit/memoize.ts';
import { hasTooManyParts, maxPixels } from './image-parts.ts';
import { inputImageType } from '../content-type.ts';

/** Only one image above this size is decoded at once, so that two do not take twice the memory. */
const largePixels = maxPixels / 4;

/** Decoding the largest takes two seconds. */
const decodeSeconds = 15;

const queue = { total: 1_000 };

/** For the whole process: of the four threads of Node's pool (UV_THREADPOOL_SIZE), files and DNS need the others. */
const decoders = createFairShareLimiter({ total: 2, queue });
const largeDecoders = createFairShareLimiter({ total: 1, queue });

export type ImageProblem =
  /** Not PNG, JPEG, WebP, GIF or AVIF. */
  | 'other_type'
  | 'too_many_pixels'
  /** So many scans, texts, frames, chunks or boxes that reading them takes far longer than the pixels. */
  | 'too_many_parts'
  | 'undecodable'
  /** Not decoded in time, for example under load. Nothing is known of the image. */
  | 'too_slow';

export class ImageError extends Error {
  override readonly name = 'ImageError';
  readonly problem: ImageProblem;

  constructor(problem: ImageProblem, cause?: unknown) {
    super(`the image is refused: ${problem}`, { cause });
    this.problem = problem;
  }
}

export interface DecodeOptions {
  /** Ends the wait for a turn, not the decoding. */
  signal: AbortSignal;
  /** The account that gets no more than its share of the turns. */
  accountId?: string | undefined;
}

/**
 * Gives a stranger's image to `work` after its header was checked, without rotating it. All such images go this way.
 * `work` does nothing but decode. Throws ImageError, QueueFullError, or the signal's reason.
 */
export const decodeImage = async <Result>(
  bytes: Uint8Array,
  work: (image: Sharp, header: Metadata) => Promise<Result>,
  options: DecodeOptions,
): Promise<Result> => {
  // The header is read first, so that a too large image is refused before it takes memory.
  const header = await readImageHeader(bytes, options);
  const pixels = header.width * header.height;
  if (pixels > maxPixels) throw new ImageError('too_many_pixels');
  const decode = (): Promise<Result> =>
    withSharp(
      (sharp) =>
        telling(() => {
          const image = sharp(bytes, { limitInputPixels: maxPixels, failOn: 'error' });
          return work(image.timeout({ seconds: decodeSeconds }), header);
        }),
      options,
    );
  return pixels > largePixels ? largeDecoders.run({ owner: options.accountId }, options, decode) : decode();
};

/** Reads size and shape from the header of a foreign image of any size. Throws like `decodeImage`. */
export const readImageHeader = async (bytes: Uint8Array, options: DecodeOptions): Promise<Metadata> => {
  if (inputImageType(bytes) === null) throw new ImageError('other_type');
  if (hasTooManyParts(bytes)) throw new ImageError('too_many_parts');
  return withSharp((sharp) => telling(() => sharp(bytes, { limitInputPixels: false }).metadata()), options);
};

/** Runs `work` on pictures of our own when a decoder is free. `work` must not wait for a decoder itself. */
export const withSharp = <Result>(
  work: (sharp: SharpModule) => Promise<Result>,
  options: DecodeOptions,
): Promise<Result> =>
  decoders.run({ owner: options.accountId }, options, async () => work(await loadSharp()));

const telling = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    throw new ImageError(isTimeout(error) ? 'too_slow' : 'undecodable', error);
  }
};

/** The message of libvips: "timeout: 37% complete". */
const isTimeout = (error: unknown): boolean => error instanceof Error && error.message.includes('timeout: ');

type SharpModule = typeof SharpLibrary;

/** The formats that may be decoded. The library reads a dozen more, such as SVG, which are too risky for foreign files. */
const openLoaders = ['Png', 'Jpeg', 'Webp', 'Nsgif', 'Heif'].map((name) => `VipsForeignLoad${name}`);

/**
 * Loads the library with the first call (0.1 s). From then on the process decodes only these formats, from memory. The
 * work takes Node's thread pool and must be bounded, so all of it goes through this file.
 */
const loadSharp = memoizeAsync(async (): Promise<SharpModule> => {
  const { default: sharp } = await import('sharp');
  // Must come before the first decoding: an image that is decoded while all formats are blocked counts as broken.
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: openLoaders });
  // Do not cache the pictures of customers.
  sharp.cache(false);
  sharp.concurrency(1);
  return sharp;
});

const maxWaitMs = 20_000;

/** Returns null for an image that `work` can decode, `busy` when nothing is known as too many are being checked. */
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
