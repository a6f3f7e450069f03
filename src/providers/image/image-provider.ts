import { buffer } from 'node:stream/consumers';
import { lastingFailures, OutboundError, type Outbound } from '../../http/outbound.ts';
import { pause } from '../../kit/repeat.ts';
import { imageContentType } from '../content-type.ts';
import { ProviderError } from '../provider-error.ts';

export const aspectRatios = [
  'auto',
  '4:3',
  '3:4',
  '16:9',
  '9:16',
  '2:3',
  '3:2',
  '1:1',
  '4:5',
  '5:4',
  '21:9',
] as const;

export type AspectRatio = (typeof aspectRatios)[number];

/** A checked image to edit. The type is that of its bytes. */
export interface InputImage {
  bytes: Uint8Array<ArrayBuffer>;
  /** `image/png`, `image/jpeg` or `image/webp`. */
  contentType: string;
}

export interface ImageRequest {
  /** The route's upstream model. */
  model: string;
  prompt: string;
  aspectRatio: AspectRatio;
  /** Images that the prompt says how to edit. Empty: the image is made from text alone. */
  inputs: readonly InputImage[];
}

export interface GeneratedImage {
  bytes: Uint8Array;
  /** `image/png`, `image/jpeg` or `image/webp`, by the bytes' own magic number. */
  contentType: string;
  revisedPrompt: string | null;
}

/** A source of images. Throws ProviderError. */
export interface ImageProvider {
  generate(request: ImageRequest, options: { signal: AbortSignal }): Promise<GeneratedImage>;
}

/** An image as an upstream answers it. */
interface UpstreamImage {
  /** Or a data URI, as some services write. */
  base64?: string | undefined;
  /** Of the web, or a data URI. */
  url?: string | undefined;
  revisedPrompt?: string | undefined;
}

export interface ResultOptions {
  /** Fetches an image from an address that the upstream names. */
  outbound: Pick<Outbound, 'download'>;
  /** The longest time of such a download. */
  totalMs: number;
}

const maxImageBytes = 32 * 1024 ** 2;

/** An image that an upstream names may be there a little later, and is paid for. */
const fetchAttempts = 3;
const fetchPauseMs = 250;

/** Reads the bytes of an upstream's image, or downloads them. Throws ProviderError. */
export const toGeneratedImage = async (
  { url = '', base64 = url.startsWith('data:') ? url : undefined, revisedPrompt }: UpstreamImage,
  options: ResultOptions,
  signal: AbortSignal,
): Promise<GeneratedImage> => {
  if (base64 === undefined && url === '') throw unusable('the upstream answer has neither base64 nor a URL');
  const bytes =
    base64 === undefined
      ? await load(url, options, signal)
      : Buffer.from(base64.slice(base64.indexOf(',') + 1), 'base64');
  const contentType = imageContentType(bytes);
  if (contentType === null) throw unusable('the upstream answered bytes that are no PNG, JPEG or WebP');
  return { bytes, contentType, revisedPrompt: revisedPrompt ?? null };
};

/** Sends no key: the address is often another host's. */
const load = async (
  url: string,
  { outbound, totalMs }: ResultOptions,
  signal: AbortSignal,
): Promise<Uint8Array> => {
  const options = { lane: 'results', maxBytes: maxImageBytes, totalMs, signal } as const;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { body } = await outbound.download(url, options);
      return await buffer(body);
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      if (attempt >= fetchAttempts || error.failure === 'timeout' || lastingFailures.has(error.failure))
        throw unusable(`the upstream's image could not be fetched: ${error.message}`, error);
      await pause(fetchPauseMs * attempt, signal);
    }
  }
};

/** Makes the failure of an image that was made, and perhaps paid for. Asking again would make another one. */
const unusable = (message: string, cause?: OutboundError): ProviderError =>
  new ProviderError(message, { failure: 'ambiguous', cause });
