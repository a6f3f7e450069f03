import { buffer } from 'node:stream/consumers';
import { z } from 'zod';
import type { ProviderTimeouts } from '../remote-settings.ts';
import { OutboundError, type Outbound } from '../../http/outbound.ts';
import { imageContentType } from '../content-type.ts';
import type { AspectRatio, GeneratedImage, ImageProvider, InputImage } from '../image/image-provider.ts';
import { ProviderError } from '../provider-error.ts';
import type { OpenAiClient } from './openai-client.ts';
import { nearestShape, ratioProportion } from '../video/video-provider.ts';

export interface OpenAiImageOptions {
  client: OpenAiClient;
  /** Fetches an image from an address that the upstream names. */
  outbound: Pick<Outbound, 'download'>;
  timeouts: ProviderTimeouts;
}

const maxImageBytes = 32 * 1024 ** 2;

const text = z.string().min(1).optional().catch(undefined);
const answerSchema = z.object({
  data: z.array(z.object({ b64_json: text, url: text, revised_prompt: text })).min(1),
});

type AnswerImage = z.infer<typeof answerSchema>['data'][number];

/** Images by `images/generations`, or by `images/edits` with inputs. One call makes one, in base64 or at a URL. */
export const createOpenAiImage = ({ client, ...downloads }: OpenAiImageOptions): ImageProvider => ({
  generate: async (request, { signal }) => {
    const { model, prompt, aspectRatio } = request;
    const size = upstreamSize(model, aspectRatio);
    const fields = { model, prompt, n: 1, ...(size === null ? {} : { size }) };
    const answer = await client.call(
      ({ images }) =>
        request.inputs.length === 0
          ? images.generate(fields)
          : images.edit({ ...fields, image: request.inputs.map(toFile) }),
      signal,
    );
    const image = answerSchema.safeParse(answer).data?.data[0];
    if (image === undefined) throw unusable('the upstream answer has no image');
    return toImage(image, { ...downloads, signal });
  },
});

const toFile = ({ bytes, contentType }: InputImage, index: number): File =>
  new File([bytes], `image-${index + 1}.${contentType.slice('image/'.length)}`, { type: contentType });

type DownloadOptions = Omit<OpenAiImageOptions, 'client'> & { signal: AbortSignal };

const toImage = async (image: AnswerImage, options: DownloadOptions): Promise<GeneratedImage> => {
  const bytes = await imageBytes(image, options);
  const contentType = imageContentType(bytes);
  if (contentType === null) throw unusable('the upstream answered bytes that are no PNG, JPEG or WebP');
  return { bytes, contentType, revisedPrompt: image.revised_prompt ?? null };
};

const imageBytes = async (image: AnswerImage, options: DownloadOptions): Promise<Uint8Array> => {
  if (image.b64_json !== undefined) return Buffer.from(image.b64_json, 'base64');
  if (image.url === undefined) throw unusable('the upstream answer has neither base64 nor a URL');
  if (image.url.startsWith('data:'))
    return Buffer.from(image.url.slice(image.url.indexOf(',') + 1), 'base64');
  return download(image.url, options);
};

/** Sends no key: the address is often another host's. */
const download = async (
  url: string,
  { outbound, timeouts, signal }: DownloadOptions,
): Promise<Uint8Array> => {
  const { totalMs } = timeouts;
  try {
    const { body } = await outbound.download(url, {
      lane: 'results',
      maxBytes: maxImageBytes,
      totalMs,
      signal,
    });
    return await buffer(body);
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    throw unusable(`the upstream's image could not be fetched: ${error.message}`, error);
  }
};

/** The image was made, and perhaps paid for. Asking again would make another one. */
const unusable = (message: string, cause?: OutboundError): ProviderError =>
  new ProviderError(message, { failure: 'ambiguous', cause });

/** The sizes that a family of upstream models takes, and its name for a size of its own choice. */
interface SizeFamily {
  models: RegExp;
  sizes: readonly string[];
  /** Null: leave the size out. */
  auto: string | null;
}

const families: readonly SizeFamily[] = [
  { models: /dall-e-2/, sizes: ['1024x1024'], auto: null },
  { models: /dall-e-3/, sizes: ['1024x1024', '1792x1024', '1024x1792'], auto: null },
  { models: /gpt-image/, sizes: ['1024x1024', '1536x1024', '1024x1536'], auto: 'auto' },
];

const otherModels: Omit<SizeFamily, 'models'> = {
  sizes: ['1024x1024', '1536x1024', '1024x1536'],
  auto: null,
};

/** Returns the upstream's size nearest to a ratio; null to let the upstream choose. */
export const upstreamSize = (model: string, ratio: AspectRatio): string | null => {
  const { sizes, auto } = families.find((family) => family.models.test(model)) ?? otherModels;
  return ratio === 'auto' ? auto : nearestShape(sizes, ratioProportion(ratio));
};
