import { z } from 'zod';
import { videoRatios, videoResolutions, type VideoInput } from '../../providers/video/video-provider.ts';
import { customData } from '../custom-data.ts';
import type { NamedMedium } from '../media/take-inputs.ts';
import type { WebhookSettings } from '../../jobs/webhooks/webhook-settings.ts';
import { forRest, unlisted } from '../schema-marks.ts';

export const longestPrompt = 262_144;
export const promptText = z.string().max(longestPrompt);
const maxParts = 64;
const url = z.string().min(1);
const medium = z.object({ url });

const part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: promptText }),
  z.object({
    type: z.literal('image_url'),
    image_url: medium.extend(unlisted({ detail: z.unknown().optional() })),
    role: z.enum(['first_frame', 'last_frame', 'reference_image']).default('first_frame'),
  }),
  z.object({
    type: z.literal('video_url'),
    video_url: medium,
    role: z.literal('reference_video').default('reference_video'),
  }),
  z.object({
    type: z.literal('audio_url'),
    audio_url: medium,
    role: z.literal('reference_audio').default('reference_audio'),
  }),
]);

const refusedWebhookUrl = z
  .never('is not accepted here; leave it out and poll the video')
  .optional()
  .describe('Not accepted: poll the video.');
const takenWebhookUrl = z
  .string()
  .min(1)
  .nullish()
  .describe('Public HTTPS address that is told of the end, signed.');

/** Makes the schema of the video create request (docs/contract.md, "Video"). */
export const createVideoInput = ({ takesVideoWebhooks }: Pick<WebhookSettings, 'takesVideoWebhooks'>) => {
  const model = z.string().min(1).max(128).describe('A video SKU from list_models.');
  const toolInput = z
    .object({
      model: model.nullish(),
      prompt: promptText.min(1).nullish().describe('What to film; short for one text part.'),
      content: z
        .array(part)
        .min(1)
        .max(maxParts)
        .nullish()
        .describe(
          'Text parts and input images, videos and audio with their roles; each url is HTTPS or a base64 data URI.',
        ),
      image_url: url.nullish().describe('First frame.'),
      last_frame_image_url: forRest(url.nullish(), { description: 'Last frame.' }),
      reference_image_urls: forRest(z.array(url).max(maxParts).nullish(), {
        description: 'Style or identity images, no frames; at most 16 of all.',
      }),
      seed: forRest(z.int().nullish(), { description: 'For results that are alike.' }),
      duration: z.int().nullish().describe('Seconds; -1 edits a reference video where the SKU can.'),
      resolution: z.enum(videoResolutions).nullish().describe('Default 720p.'),
      ratio: forRest(z.enum(videoRatios).nullish(), {
        description:
          'Default adaptive where there is an image or a video to adapt to, else 16:9. An edit is adaptive.',
      }),
      aspect_ratio: z.enum(videoRatios).nullish().describe('The same as ratio.'),
      generate_audio: z.boolean().nullish().describe('Default true.'),
      nsfw_check: forRest(z.boolean().nullish(), {
        description: 'true gives prompts and images another moderation pass. Default false.',
      }),
      return_last_frame: forRest(z.boolean().nullish(), {
        description: 'true keeps the last frame as an image beside the video. Default false.',
      }),
      output_format: z
        .unknown()
        .meta({ type: 'string', description: 'mov gives MOV; every other value, and none, MP4.' })
        .optional(),
      ...unlisted({
        custom_data: customData.optional().describe('Stored and echoed unchanged; at most 4096 bytes.'),
      }),
      ...(takesVideoWebhooks
        ? { webhook_url: takenWebhookUrl }
        : unlisted({ webhook_url: refusedWebhookUrl })),
    })
    .superRefine((request, context) => {
      const { ratio, aspect_ratio: sameRatio } = request;
      if (typeof ratio === 'string' && typeof sameRatio === 'string' && ratio !== sameRatio)
        context.addIssue({
          code: 'custom',
          path: ['aspect_ratio'],
          message: 'is another name of ratio and must not differ from it',
        });
    });
  // Over REST the model is required, as by the contract.
  return { input: toolInput.safeExtend({ model }), toolInput };
};

/** As in `Operation.otherNames`. */
export const otherNames = new Map([
  ['seconds', ['duration']],
  ['n_seconds', ['duration']],
  ['length', ['duration']],
  ['aspect', ['aspect_ratio', 'ratio']],
  ['size', ['resolution', 'aspect_ratio', 'ratio']],
  ['image', ['image_url', 'content']],
  ['input_reference', ['image_url', 'content']],
]);

export type VideoInputBody = z.infer<ReturnType<typeof createVideoInput>['toolInput']>;

export interface NamedInput extends NamedMedium {
  role: VideoInput['role'];
}

/** Returns all media of a request, those of `content` first. Empty strings cannot occur. */
export const namedInputs = (request: VideoInputBody): NamedInput[] => {
  const parts = (request.content ?? []).map((item, index): Partial<NamedInput> => {
    const param = `content.${index}`;
    switch (item.type) {
      case 'text':
        return {};
      case 'image_url':
        return { role: item.role, url: item.image_url.url, param };
      case 'video_url':
        return { role: item.role, url: item.video_url.url, param };
      case 'audio_url':
        return { role: item.role, url: item.audio_url.url, param };
    }
  });
  const references = (request.reference_image_urls ?? []).map(
    (url, index) => ({ role: 'reference_image', url, param: `reference_image_urls.${index}` }) as const,
  );
  return [
    ...parts,
    { role: 'first_frame', url: request.image_url, param: 'image_url' },
    { role: 'last_frame', url: request.last_frame_image_url, param: 'last_frame_image_url' },
    ...references,
  ].filter((input): input is NamedInput => typeof input.url === 'string');
};

/** Returns the whole prompt: `prompt`, then the text parts, one line each. */
export const promptOf = ({ prompt, content }: VideoInputBody): string =>
  [prompt ?? '', ...(content ?? []).map((item) => (item.type === 'text' ? item.text : ''))]
    .filter((text) => text !== '')
    .join('\n');
