import { z } from 'zod';
import { imageContentType } from '../image/image-content-type.ts';
import type { GeneratedImage, ImageProvider, ImageRequest } from '../image/image-provider.ts';
import { ProviderError } from '../provider-error.ts';
import { upstreamSize } from './image-size.ts';
import type { OpenAiClient } from './openai-client.ts';
import { toProviderFailure } from './to-provider-failure.ts';
import type { Fetch } from './upstream-fetch.ts';

const text = z.string().min(1).optional().catch(undefined);
const answerSchema = z.object({
  data: z.array(z.object({ b64_json: text, url: text, revised_prompt: text })).min(1),
});

type AnswerImage = z.infer<typeof answerSchema>['data'][number];

/**
 * One image at a time by `images/generations` of an OpenAI-compatible upstream, or `images/edits` where there are images
 * to edit; base64 and URL answers.
 */
export const createOpenAiImage = ({ client }: { client: OpenAiClient }): ImageProvider => ({
  generate: async (request, { signal }) => {
    try {
      const { api, fetch } = await client.open();
      const answer: unknown =
        request.inputs.length === 0
          ? await api.post('/images/generations', { body: toFields(request), signal })
          : await api.post('/images/edits', { ...(await toForm(request)), signal });
      const parsed = answerSchema.safeParse(answer);
      const image = parsed.data?.data[0];
      if (image === undefined) throw unusable('the upstream answer has no image');
      return [await toImage(image, { fetch, signal })];
    } catch (error) {
      throw await toProviderFailure(error, signal);
    }
  },
});

const toFields = ({ model, prompt, aspectRatio }: ImageRequest): Record<string, string | number> => {
  const size = upstreamSize(model, aspectRatio);
  return { model, prompt, n: 1, ...(size === null ? {} : { size }) };
};

/** The same fields and the images as multipart/form-data, written by the platform. */
const toForm = async (
  request: ImageRequest,
): Promise<{ body: Uint8Array<ArrayBuffer>; headers: Record<string, string> }> => {
  const form = new FormData();
  for (const [name, value] of Object.entries(toFields(request))) form.set(name, String(value));
  for (const [index, { bytes, contentType }] of request.inputs.entries()) {
    const file = new Blob([bytes], { type: contentType });
    form.append('image[]', file, `image-${index + 1}.${contentType.slice('image/'.length)}`);
  }
  const encoded = new Response(form);
  return {
    body: new Uint8Array(await encoded.arrayBuffer()),
    headers: { 'content-type': encoded.headers.get('content-type') ?? '' },
  };
};

const toImage = async (
  image: AnswerImage,
  { fetch, signal }: { fetch: Fetch; signal: AbortSignal },
): Promise<GeneratedImage> => {
  const bytes = await imageBytes(image, fetch, signal);
  const contentType = imageContentType(bytes);
  if (contentType === null) throw unusable('the upstream answered bytes that are no PNG, JPEG or WebP');
  return { bytes, contentType, revisedPrompt: image.revised_prompt ?? null };
};

const imageBytes = async (image: AnswerImage, fetch: Fetch, signal: AbortSignal): Promise<Uint8Array> => {
  if (image.b64_json !== undefined) return Buffer.from(image.b64_json, 'base64');
  if (image.url === undefined) throw unusable('the upstream answer has neither base64 nor a URL');
  if (image.url.startsWith('data:'))
    return Buffer.from(image.url.slice(image.url.indexOf(',') + 1), 'base64');
  if (!URL.canParse(image.url)) throw unusable('the upstream answered a URL that is none');
  // No key goes along: the address is often another host's.
  const answer = await fetch(image.url, { signal });
  const bytes = new Uint8Array(await answer.arrayBuffer());
  if (!answer.ok) throw unusable(`the upstream's image URL answered ${answer.status}`);
  return bytes;
};

/** The image was made, and maybe paid for: asking again would make another. */
const unusable = (message: string): ProviderError =>
  new ProviderError(message, { failure: 'ambiguous', code: 'upstream_error' });
