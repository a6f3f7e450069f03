import { soldOperation } from '../define-operation.ts';
import { z } from 'zod';
import { type Catalog, findModel } from '../../accounts/catalog/catalog.ts';
import { toPricing } from '../../accounts/catalog/model.ts';
import type { WebhookSettings } from '../../jobs/webhooks/webhook-settings.ts';
import { wrongField } from '../../kit/errors.ts';
import type { ImageJobInput, ImageJobRequest } from './run-image.ts';
import { parsedShare } from '../../limits/memory-budget.ts';
import { refuseInput } from '../../media/stream-input.ts';
import { formatUsd } from '../../kit/money.ts';
import { aspectRatios, type AspectRatio } from '../../providers/image/image-provider.ts';
import { nearestShape, ratioProportion } from '../../providers/video/video-provider.ts';
import { assertWebhooks, checkWebhookUrl, prepareWebhook } from '../webhook-url.ts';
import { customData } from '../custom-data.ts';
import { toJobAnswer, waitForEnd, jobSchema } from '../jobs/job-answer.ts';
import type { AccountCall, Services } from '../call.ts';
import type { PrepaidSale } from '../sale.ts';
import { createImageExamples, imageEvent } from './image-examples.ts';
import { forRest, unlisted } from '../schema-marks.ts';
import { maxInputBytes } from '../../media/fetch-input.ts';
import { assertAffordable } from '../prepaid.ts';
import { takeAll, checkInputs, type NamedMedium } from '../media/take-inputs.ts';
import { assertRoute, openMediaJob, type MediaJobOrder, type MediaServices } from '../media/media-job.ts';

const maxImages = 16;
/** A queued image that waits longer than this fails uncharged. */
const queueDeadlineMs = 3_600_000;
/** After a crash an image is made again only once, because the lost call may have reached a paid upstream. */
const maxAttempts = 2;

const model = z.string().min(1).max(128).describe('An image SKU from list_models.');
const toolInput = z.object({
  model: model.nullish(),
  prompt: z.string().min(1).max(262_144).describe('What to draw, or how to edit.'),
  aspect_ratio: z.enum(aspectRatios).nullish().describe('Default auto.'),
  size: z
    .string()
    .regex(/^(?:auto|[1-9]\d{0,4}x[1-9]\d{0,4})$/, 'must be WIDTHxHEIGHT or auto')
    .nullish()
    .describe('WIDTHxHEIGHT; mapped to the nearest ratio.'),
  n: forRest(z.literal(1).nullish(), { description: 'Leave it out, or 1.' }),
  response_format: z.string().nullish().describe('Only `url`.'),
  image: z
    .union([z.string(), z.array(z.string().min(1)).max(maxImages)])
    .nullish()
    .describe('Edit these: public https:// URL(s) or data:image/...;base64 URI(s), at most 16.'),
  webhook_url: z
    .string()
    .min(1)
    .nullish()
    .describe(
      'With async=true: public HTTPS address told of the end, signed by webhook_secret of GET /v1/balance.',
    ),
  custom_data: customData.optional().describe('Stored and echoed unchanged; at most 4096 bytes.'),
  ...unlisted({
    stream: z
      .literal(false, 'images are not streamed; leave it out')
      .nullish()
      .describe('Leave it out, or false.'),
  }),
  async: z.boolean().default(false).describe('true answers the queued job at once.'),
});

/** Over REST the model is required, as by the contract. */
const input = toolInput.safeExtend({ model });

type Input = z.infer<typeof toolInput>;

type ImageSale = PrepaidSale<Input, ReturnType<typeof findImageModel>, MediaServices>;

export const createImage = soldOperation<Input, ImageSale>({
  name: 'create_image',
  title: 'Make an image',
  description:
    'Makes an image from a text prompt, or edits images; priced by call and charged only when it succeeds. Waits for the result; ' +
    'with async=true, or when it takes long, it answers with a pending job: read it with get_job. ' +
    'The image URL in data can be shown to people as it is.',
  sells: 'image',
  input,
  toolInput,
  otherNames: new Map([
    ['aspect', ['aspect_ratio']],
    ['ratio', ['aspect_ratio']],
    ['image_url', ['image']],
    ['image_urls', ['image']],
  ]),
  output: jobSchema,
  rest: {
    path: '/v1/images/generations',
    query: ['async'],
    errors: ['unsupported_response_format', 'webhook_temporarily_unavailable'],
  },
  tool: {
    main: ['model', 'prompt', 'aspect_ratio', 'image'],
    view: 'job',
    task: {
      kind: 'image',
      pollMs: 1_000,
      keepMs: ({ mediaRetentionMs }) => mediaRetentionMs,
      answer: (job, _call, services) => toJobAnswer(job, 200, services),
    },
  },
  docs: {
    answer: 'Job',
    examples: createImageExamples,
    event: imageEvent,
    wrong: { model: 'imagemodel-1.0' },
  },
  sale: {
    kind: 'prepaid',
    idempotentPart: ({ async: _async, stream: _stream, ...rest }) => rest,

    perCall: {
      description: 'Image',
      unit: { one: 'image', many: 'images' },
      tags: ['image', 'generation'],
      quote: (request, buyer, { catalogs, config }) => {
        refuseUnsupported(request, config);
        assertWebhooks(request.webhook_url, config);
        const { sku, price } = findImageModel(catalogs.for(buyer), request.model);
        return { most: price.price, parts: { model: sku, pricing: toPricing(price) } };
      },
      check: async (request, call, services) => {
        const model = findImageModel(services.catalogs.for(call.caller), request.model);
        assertRoute(services.providers.image(model.sku));
        await assertAffordable(model.price.price, call, services);
        const named = namedImages(request).map((image) => ({ ...image, kind: 'image' as const }));
        await checkInputs(named, call, services);
        return model;
      },
    },

    open: async (request, call, services, { idempotency, checked }) => {
      const { caller } = call;
      refuseUnsupported(request, services.config);
      const model = checked ?? findImageModel(services.catalogs.for(caller), request.model);
      await prepareWebhook(request.webhook_url, caller, services);
      const named = namedImages(request);
      const { price } = model.price;
      // Nobody has images fetched for a job that the account cannot pay.
      if (named.length > 0) await assertAffordable(price, call, services);

      if (request.async) assertRoute(services.providers.image(model.sku));
      const inputs = await takeImageInputs(named, call, services);
      call.memory.settleBody(parsedShare);
      const work: ImageJobRequest = {
        prompt: request.prompt,
        aspectRatio: ratioOf(request),
        inputs,
        priceUsd: formatUsd(price),
      };
      const toOrder = (): MediaJobOrder => ({
        kind: 'image',
        model: model.sku,
        price,
        runsAtOnce: !request.async,
        maxAttempts,
        deadlineMs: queueDeadlineMs,
        work,
        customData: request.custom_data,
        webhookUrl: request.webhook_url,
      });
      return openMediaJob({ inputs, toOrder, idempotency }, call, services);
    },

    answer: async ({ job }, request, call, services) => {
      if (request.async) return toJobAnswer(job, 202, services);
      const timeoutMs = services.config.imageDeadlineMs;
      return toJobAnswer(await waitForEnd({ job, timeoutMs }, call, services), 200, services);
    },
  },
});

const findImageModel = (catalog: Catalog, name: Input['model']) => {
  const { sku, price } = findModel(catalog, 'image', name);
  if (price.unit !== 'call') throw new Error(`${sku} is an image SKU that is not priced by call`);
  return { sku, price };
};

const refuseUnsupported = (request: Input, settings: WebhookSettings): void => {
  const { response_format: format, webhook_url: webhookUrl, async: isAsync, aspect_ratio: ratio } = request;
  if (typeof format === 'string' && format !== 'url')
    throw wrongField(
      'unsupported_response_format',
      'response_format',
      'response_format: only "url" is served. Leave it out.',
    );
  if (typeof webhookUrl === 'string' && !isAsync)
    throw refuseInput('webhook_url', 'goes with async=true only');
  checkWebhookUrl(webhookUrl, settings);
  if (typeof ratio === 'string' && ratio !== 'auto' && ratioOf(request) !== ratio)
    throw refuseInput('size', 'has another shape than aspect_ratio; leave one of them out');
};

/** Returns the images to edit with their fields. Empty for an image from text. */
const namedImages = ({ image }: Input): NamedMedium[] => {
  if (typeof image === 'string') return image === '' ? [] : [{ url: image, param: 'image' }];
  return (image ?? []).map((url, index) => ({ url, param: `image.${index}` }));
};

const ratioOf = ({ size, aspect_ratio: ratio }: Input): AspectRatio =>
  typeof size === 'string' && size !== 'auto'
    ? nearestShape(drawnRatios, ratioProportion(size))
    : (ratio ?? 'auto');

const drawnRatios = aspectRatios.filter((ratio) => ratio !== 'auto');

/** The deadline for all images of a request, from the first download to the last saved byte. */
const inputsDeadlineMs = 30_000;
/** The images of one request that are downloaded at once. Each may take 20 MB of memory. */
const atOnce = 4;
/** The limit of all images of one request. They go upstream in one body. */
const maxMegabytesTogether = 64;

/**
 * Downloads, checks and saves the images of a request, in their order. Throws AppError, or the call's abort reason. Then
 * none is kept.
 */
const takeImageInputs = async (
  images: readonly NamedMedium[],
  { caller: { accountId }, signal }: AccountCall,
  { fetchInput, media }: Pick<Services, 'fetchInput' | 'media'>,
): Promise<ImageJobInput[]> => {
  let bytesTogether = 0;
  return takeAll(images, {
    atOnce,
    deadlineMs: inputsDeadlineMs,
    tooLate: () => refuseInput('image', 'could not be read in time; send fewer or smaller images'),
    signal,
    discard: (taken) => media.discard(taken.map(({ id }) => id)),
    take: async ({ url, param }, ended) => {
      const options = {
        kind: 'image' as const,
        maxBytes: maxInputBytes.image,
        param,
        signal: ended,
        accountId,
      };
      return fetchInput(url, options, async ({ bytes, contentType }) => {
        bytesTogether += bytes.byteLength;
        if (bytesTogether > maxMegabytesTogether * 1024 ** 2)
          throw refuseInput('image', `the images have more than ${maxMegabytesTogether} MB together`);
        const { id, sizeBytes } = await media.save({
          accountId,
          role: 'input',
          contentType,
          source: bytes,
          signal: ended,
        });
        return { id, contentType, sizeBytes };
      });
    },
  });
};
