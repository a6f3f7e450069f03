import type { Metadata, Sharp } from 'sharp';
import { createMemoryBudget } from '../limits/memory-budget.ts';
import type { Outbound } from '../http/outbound.ts';
import { checkImage } from '../providers/image/check-image.ts';
import { isConverted } from '../providers/image/input-image-type.ts';
import { isDataUri } from './data-uri-input.ts';
import { refuseImage } from './refuse-image.ts';
import { refuseInput } from './refuse-input.ts';
import type { InputKind } from './sniff-input.ts';
import { createStreamInput, type StreamInputOptions } from './stream-input.ts';

const megabyte = 1024 ** 2;
const photographQuality = 92;

/** Bytes of one input, decoded. */
export const maxInputBytes: Record<InputKind, number> = {
  /** What image models take at most; a photograph at full size has 5 to 15 MB. */
  image: 20 * megabyte,
  /** Twenty minutes of MP3, two of WAV: what audio models take at most. */
  audio: 20 * megabyte,
  /** Half a minute of 4k. */
  video: 100 * megabyte,
};

export interface FetchedInput {
  kind: InputKind;
  /** By the bytes' own magic number; of images PNG, JPEG or WebP. */
  contentType: string;
  bytes: Uint8Array;
}

/**
 * Takes in what a caller named, whole and in memory: a public `https://` URL or a `data:<mime>;base64,<data>` URI. Images
 * are decoded once to see that they can be; GIF and AVIF are converted. Throws AppError (`invalid_parameter` with the field, text and issue;
 * `overloaded`), or the signal's reason. For videos there is `StreamInput`, which keeps nothing.
 */
export type FetchInput = (text: string, options: FetchInputOptions) => Promise<FetchedInput>;

export interface FetchInputOptions extends StreamInputOptions {
  /** Takes memory for so many bytes that are kept from here on; a download's own is given back after that. */
  keep?(sizeBytes: number): Promise<void>;
}

export interface FetchInputSettings {
  download: Outbound['download'];
  /** What downloads that are being fetched or checked may take of memory together; each counts with its `maxBytes`. */
  memoryBytes?: number;
}

export const createFetchInput = ({
  download,
  memoryBytes = 256 * megabyte,
}: FetchInputSettings): FetchInput => {
  const streamInput = createStreamInput({ download });
  const memory = createMemoryBudget({ totalBytes: memoryBytes });

  const fetchInput: FetchInput = async (text, options) => {
    const { kind, contentType, source } = await streamInput(text, options);
    const bytes = await gather(source);
    const taken =
      kind === 'image' ? await takeImage({ contentType, bytes }, options) : { contentType, bytes };
    await options.keep?.(taken.bytes.byteLength);
    return { kind, ...taken };
  };

  return async (text, options) => {
    // The memory of a data URI is accounted for with the request that it came in.
    if (isDataUri(text)) return fetchInput(text, options);
    const release = await memory.reserve(options.maxBytes, options);
    try {
      return await fetchInput(text, options);
    } finally {
      release();
    }
  };
};

/** The image as upstreams take it: of a GIF or AVIF the first picture, as PNG, or as JPEG where nothing of it is see-through. */
const takeImage = async (
  { contentType, bytes }: Omit<FetchedInput, 'kind'>,
  options: FetchInputOptions,
): Promise<Omit<FetchedInput, 'kind'>> => {
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

const gather = async (source: Uint8Array | AsyncIterable<Uint8Array>): Promise<Uint8Array> => {
  if (source instanceof Uint8Array) return source;
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks);
};
