import { z } from 'zod';
import {
  type AspectRatio,
  type ImageProvider,
  type InputImage,
  type ResultOptions,
  toGeneratedImage,
} from '../image/image-provider.ts';
import { toStreamFailure } from '../upstream-failure.ts';
import type { OpenAiClient } from './openai-client.ts';
import { nearestShape, ratioProportion } from '../video/video-provider.ts';

export interface OpenAiImageOptions extends ResultOptions {
  client: OpenAiClient;
}

const text = z.string().min(1).optional().catch(undefined);
/** Some services say in a good answer, or in its image, why there is none. */
const error = z.looseObject({}).optional().catch(undefined);
const imageSchema = z.object({ b64_json: text, url: text, revised_prompt: text, error });
const answerSchema = z.object({ data: z.array(imageSchema).catch([]), error });

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
    const { data: [image] = [], error: refusal } = answerSchema.safeParse(answer).data ?? {};
    const { b64_json: base64, url, revised_prompt: revisedPrompt, error: why = refusal } = image ?? {};
    if ((base64 ?? url) === undefined && why !== undefined) throw toStreamFailure(why, {});
    return toGeneratedImage({ base64, url, revisedPrompt }, downloads, signal);
  },
});

const toFile = ({ bytes, contentType }: InputImage, index: number): File =>
  new File([bytes], `image-${index + 1}.${contentType.slice('image/'.length)}`, { type: contentType });

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
