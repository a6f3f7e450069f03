import type { Metadata, Sharp } from 'sharp';
import { createMemoryBudget } from '../limits/memory-budget.ts';
import type { Outbound } from '../http/outbound.ts';
import { checkImage, type ImageProblem } from '../providers/image/decode-image.ts';
import { maxPixels } from '../providers/image/image-parts.ts';
import { isConverted } from '../providers/content-type.ts';
import { isDataUri } from './data-uri.ts';
import {
  createStreamInput,
  expectedInput,
  type InputKind,
  refuseInput,
  type StreamInputOptions,
} from './stream-input.ts';
import { AppError } from '../kit/errors.ts';

const megabyte = 1024 ** 2;
const photographQuality = 92;

export const maxInputBytes: Record<InputKind, number> = {
  /** The maximum of image models; a full-size photograph has 5 to 15 MB. */
  image: 20 * megabyte,
  /** The maximum of audio models: twenty minutes of MP3, two of WAV. */
  audio: 20 * megabyte,
  /** Half a minute of 4k. */
  video: 100 * megabyte,
};

export interface FetchedInput {
  /** The type that the first bytes show; an image is PNG, JPEG or WebP. */
  contentType: string;
  bytes: Uint8Array;
}

/**
 * Loads a whole input from an `https://` URL or a data URI. Images are decoded once; GIF and AVIF are converted. The
 * memory for it is reserved until `use` has ended. Throws AppError, the signal's reason, or the error of `use`.
 * `StreamInput`, for videos, keeps nothing in memory.
 */
export type FetchInput = <Result>(
  text: string,
  options: StreamInputOptions,
  use: (input: FetchedInput) => Promise<Result>,
) => Promise<Result>;

export interface FetchInputSettings {
  download: Outbound['download'];
  /** Memory limit of all inputs: each counts with its `maxBytes` until it is there, and with its bytes while it is used. */
  memoryBytes?: number;
}

export const createFetchInput = ({
  download,
  memoryBytes = 256 * megabyte,
}: FetchInputSettings): FetchInput => {
  const streamInput = createStreamInput({ download });
  const memory = createMemoryBudget({ totalBytes: memoryBytes });

  const load = async (text: string, options: StreamInputOptions): Promise<FetchedInput> => {
    const { contentType, source } = await streamInput(text, options);
    const bytes = source instanceof Uint8Array ? source : Buffer.concat(await Array.fromAsync(source));
    return options.kind === 'image' ? takeImage({ contentType, bytes }, options) : { contentType, bytes };
  };

  return async (text, options, use) => {
    // The memory of a data URI is counted with its request.
    if (isDataUri(text)) return use(await load(text, options));
    const release = await memory.reserve(options.maxBytes, options);
    try {
      const input = await load(text, options);
      release(input.bytes.byteLength);
      return await use(input);
    } finally {
      release();
    }
  };
};

/** Checks an image. Converts the first picture of a GIF or AVIF to PNG, or an AVIF without transparency to JPEG. */
const takeImage = async (
  { contentType, bytes }: FetchedInput,
  options: StreamInputOptions,
): Promise<FetchedInput> => {
  let taken = { contentType, bytes };
  const convert = async (image: Sharp, { hasAlpha }: Metadata): Promise<void> => {
    const isPhotograph = contentType === 'image/avif' && !hasAlpha;
    taken = isPhotograph
      ? { contentType: 'image/jpeg', bytes: await image.jpeg({ quality: photographQuality }).toBuffer() }
      : { contentType: 'image/png', bytes: await image.png().toBuffer() };
  };
  const problem = await checkImage(bytes, options, isConverted(bytes) ? convert : undefined);
  if (problem !== null) throw refuseImage(problem, options.param);
  if (taken.bytes.byteLength > options.maxBytes)
    throw refuseInput(
      options.param,
      `has more than ${options.maxBytes / megabyte} MB as ${taken.contentType}`,
    );
  return taken;
};

const texts = {
  other_type: `is not ${expectedInput.image}`,
  too_many_pixels: `has more than ${maxPixels / 1_000_000} million pixels`,
  too_many_parts:
    'is an image with far more scans, texts, frames, chunks or boxes than images need; save it again',
  undecodable: 'is an image that is broken or cut off',
};

/** Makes the 422 for an image with a problem, or the 503 if it could not be checked now. */
export const refuseImage = (problem: ImageProblem | 'busy', param: string): AppError => {
  if (problem !== 'too_slow' && problem !== 'busy') return refuseInput(param, texts[problem]);
  const text =
    problem === 'busy'
      ? 'The service is checking too many images. Try again shortly.'
      : `${param}: could not be checked in time. Try again shortly.`;
  return new AppError('overloaded', text, { retryAfterSeconds: 5 });
};
