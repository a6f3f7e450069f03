import { soldOperation } from '../define-operation.ts';
import { accountLimits, type Catalog, findModel } from '../../accounts/catalog/catalog.ts';
import { toPricing, type ModelConfig, type DurationRule, type Price } from '../../accounts/catalog/model.ts';
import { videoKeepMs, type VideoJobRequest } from './run-video.ts';
import { parsedShare } from '../../limits/memory-budget.ts';
import { refuseInput } from '../../media/stream-input.ts';
import { formatUsd, type Nano } from '../../kit/money.ts';
import type { VideoRatio, VideoResolution } from '../../providers/video/video-provider.ts';
import { tooManyActive, assertAffordable } from '../prepaid.ts';
import type { WebhookSettings } from '../../jobs/webhooks/webhook-settings.ts';
import { assertWebhooks, checkWebhookUrl, prepareWebhook } from '../webhook-url.ts';
import type { AccountCall, Services } from '../call.ts';
import type { PrepaidSale } from '../sale.ts';
import { needsAccount } from '../per-call-sale.ts';
import { createVideoExamples, videoEvent } from './video-examples.ts';
import { toVideoAnswer, videoSchema, type VideoParameters } from './video-answer.ts';
import {
  createVideoInput,
  longestPrompt,
  namedInputs,
  otherNames,
  promptOf,
  promptText,
  type NamedInput,
  type VideoInputBody,
} from './video-input.ts';
import { takeVideoInputs, type InputServices, type TakenInput } from './take-video-inputs.ts';
import { checkInputs as checkMedia } from '../media/take-inputs.ts';
import { assertRoute, openMediaJob, type MediaJobOrder, type MediaServices } from '../media/media-job.ts';

/** A video that takes longer than this fails uncharged. */
const deadlineMs = 6 * 3_600_000;
/** Every restart may resume a video, because resuming a known task costs nothing. */
const maxAttempts = 1_000;

/** Makes the operation. Only a gateway whose operator wants it takes a `webhook_url`. */
export const createVideo = (webhooks: Pick<WebhookSettings, 'takesVideoWebhooks'>) =>
  soldOperation<VideoInputBody, VideoSale>({
    name: 'create_video',
    title: 'Make a video',
    description:
      'Begins a video from text and, if wanted, input images, videos and audio; priced by output second and ' +
      'resolution, charged only when it succeeds. Answers at once: poll get_video with wait_ms. The content can be ' +
      'downloaded for 23 hours.',
    sells: 'video',
    ...createVideoInput(webhooks),
    otherNames,
    output: videoSchema,
    rest: {
      path: '/v1/videos',
      errors: [
        'too_many_active_jobs',
        // The contract lists it for this call.
        'video_not_found',
        ...(webhooks.takesVideoWebhooks ? (['webhook_temporarily_unavailable'] as const) : []),
      ],
    },
    tool: {
      main: ['model', 'prompt', 'image_url', 'duration', 'resolution'],
      view: 'job',
      task: {
        kind: 'video',
        pollMs: 5_000,
        keepMs: () => videoKeepMs,
        answer: (job, _call, services) => toVideoAnswer(job, 200, services),
      },
    },
    docs: {
      answer: 'Video',
      description:
        'Begins a video from text and, if wanted, input images, videos and audio; priced by output second and resolution, ' +
        'charged only when it succeeds. Answers at once: poll get_video until it has ended. The content can be downloaded ' +
        'for 23 hours.',
      examples: createVideoExamples,
      ...(webhooks.takesVideoWebhooks ? { event: videoEvent } : {}),
      wrong: { model: 'videomodel-2.0', resolution: '8k' },
    },
    sale: {
      kind: 'prepaid',
      idempotentPart: (input) => input,

      perCall: {
        description: 'Video',
        unit: { one: 'video', many: 'videos' },
        tags: ['video', 'generation'],
        quote: (request, buyer, { catalogs, config }) => {
          checkWebhookUrl(request.webhook_url, config);
          assertWebhooks(request.webhook_url, config);
          const { model, video, hasReferenceVideo } = readVideo(request, catalogs.for(buyer));
          if (hasReferenceVideo)
            throw needsAccount('content: the price with a reference video depends on its length');
          const { price, seconds } = priceVideo(model.price, { ...video, referenceSeconds: [] });
          return {
            most: price,
            parts: { model: model.sku, billed_seconds: seconds, pricing: toPricing(model.price) },
          };
        },
        check: async (request, call, services) => {
          const read = readVideo(request, services.catalogs.for(call.caller));
          const { model, video, named, hasReferenceVideo } = read;
          assertRoute(services.providers.video(model.sku));
          await assertAffordable(leastPrice(model, video, hasReferenceVideo), call, services);
          await assertPlace(call, services);
          const media = named.map(({ url, param, role }) => {
            const kind: 'audio' | 'image' = role === 'reference_audio' ? 'audio' : 'image';
            return { url, param, kind };
          });
          await checkMedia(media, call, services);
          return read;
        },
      },
      open: openVideo,
      answer: ({ job }, _request, _call, services) => toVideoAnswer(job, 202, services),
    },
  });

type Video = VideoJobRequest['request'];
type VideoServices = MediaServices & InputServices & Pick<Services, 'publicUrl'>;
type VideoSale = PrepaidSale<VideoInputBody, ReturnType<typeof readVideo>, VideoServices>;

/** Reads what is asked for, without its inputs. Throws AppError. */
const readVideo = (request: VideoInputBody, catalog: Catalog) => {
  const model = findModel(catalog, 'video', request.model);
  if (model.duration === null) throw new Error(`${model.sku} is a video SKU without lengths`);
  const named = namedInputs(request);
  const prompt = promptOf(request);
  checkInputs(named, prompt);
  const hasReferenceVideo = named.some(({ role }) => role === 'reference_video');
  const durationSeconds = durationOf(model.duration, request.duration ?? null, hasReferenceVideo);
  const video: Video = {
    prompt,
    seed: request.seed ?? null,
    durationSeconds,
    resolution: request.resolution ?? '720p',
    // A video takes its shape from a picture or a film.
    ratio: ratioOf(request, {
      isEdit: durationSeconds === -1,
      hasInput: named.some(({ role }) => role !== 'reference_audio'),
    }),
    generateAudio: request.generate_audio ?? true,
    nsfwCheck: request.nsfw_check ?? false,
    returnLastFrame: request.return_last_frame ?? false,
    outputFormat: request.output_format === 'mov' ? 'mov' : 'mp4',
  };
  return { model, video, named, hasReferenceVideo };
};

const openVideo: VideoSale['open'] = async (request, call, services, { idempotency, checked }) => {
  const { caller } = call;
  checkWebhookUrl(request.webhook_url, services.config);
  const { model, video, named, hasReferenceVideo } =
    checked ?? readVideo(request, services.catalogs.for(caller));
  await prepareWebhook(request.webhook_url, caller, services);
  assertRoute(services.providers.video(model.sku));
  const least = leastPrice(model, video, hasReferenceVideo);
  if (named.length > 0) {
    // Nobody has inputs fetched for a job that cannot be paid, or is one too many. The store decides finally.
    await assertAffordable(least, call, services);
    await assertPlace(call, services);
  }
  const inputs = await takeVideoInputs(named, call, services);
  call.memory.settleBody(parsedShare);
  const toOrder = (): MediaJobOrder => ({
    ...toVideoOrder(model, video, inputs),
    activeLimit: accountLimits(caller, services).activeVideos,
    customData: request.custom_data,
    webhookUrl: request.webhook_url,
  });
  return openMediaJob({ inputs, toOrder, idempotency }, call, services);
};

/** Returns the least price of the video before the length of a reference video is known. Throws AppError without a rate. */
const leastPrice = ({ price, duration }: ModelConfig, video: Video, hasReferenceVideo: boolean): Nano => {
  const isEdit = video.durationSeconds === -1;
  const leastReference = isEdit ? (duration?.minimum ?? 0) - clipErrorSeconds : clipErrorSeconds;
  return priceVideo(price, { ...video, referenceSeconds: hasReferenceVideo ? [leastReference] : [] }).price;
};

const assertPlace = async ({ caller }: AccountCall, services: VideoServices): Promise<void> => {
  const { activeVideos } = accountLimits(caller, services);
  const active = await services.store.countActiveJobs({ accountId: caller.accountId, kind: 'video' });
  if (active >= activeVideos) throw tooManyActive();
};

const maxOf = { first_frame: 1, last_frame: 1, reference_image: 16, reference_video: 3, reference_audio: 3 };

const checkInputs = (named: readonly NamedInput[], prompt: string): void => {
  if (!promptText.safeParse(prompt).success)
    throw refuseInput('content', `all texts together may have ${longestPrompt} characters at most.`);
  if (prompt === '' && named.length === 0)
    throw refuseInput('content', 'say what to film, in prompt or a text part, or give an input.');
  for (const [role, most] of Object.entries(maxOf)) {
    const tooMany = named.filter((input) => input.role === role)[most];
    if (tooMany !== undefined)
      throw refuseInput(tooMany.param, `at most ${most} with the role ${role} can be given.`);
  }
};

const ratioOf = (
  { ratio, aspect_ratio: sameRatio }: VideoInputBody,
  { isEdit, hasInput }: { isEdit: boolean; hasInput: boolean },
): VideoRatio => {
  const asked = ratio ?? sameRatio ?? null;
  if (isEdit && asked !== null && asked !== 'adaptive')
    throw refuseInput('ratio', 'an edit keeps its video’s shape; leave it out.');
  return asked ?? (hasInput ? 'adaptive' : '16:9');
};

const toVideoOrder = (
  model: ModelConfig,
  video: Video,
  inputs: readonly TakenInput[],
): Omit<MediaJobOrder, 'customData'> => {
  const referenceSeconds = inputs.flatMap(({ seconds }) => (seconds === null ? [] : [seconds]));
  const { durationSeconds, resolution, ratio, generateAudio, outputFormat } = video;
  const length = durationSeconds === -1 ? editedLength(referenceSeconds, model.duration) : durationSeconds;
  const { price, seconds } = priceVideo(model.price, { ...video, referenceSeconds });
  const work: VideoJobRequest = {
    request: video,
    inputs: inputs.map(({ seconds: _seconds, ...input }) => input),
    priceUsd: formatUsd(price),
  };
  const parameters: VideoParameters = {
    duration: length,
    resolution,
    ratio,
    generate_audio: generateAudio,
    output_format: outputFormat,
    billed_seconds: seconds,
  };
  const runsAtOnce = false;
  return { kind: 'video', model: model.sku, price, runsAtOnce, maxAttempts, deadlineMs, work, parameters };
};

/** The tolerance for the length of a clip, because containers round lengths. */
const clipErrorSeconds = 0.25;

/** The tolerance above a whole second, because containers round their time base. */
const measuringErrorSeconds = 0.001;

/** Returns the length of an edit in whole seconds: that of the first reference video, rounded up as its price is. */
const editedLength = (
  referenceSeconds: readonly number[],
  rule: { minimum: number; maximum: number } | null,
): number => {
  const [clip] = referenceSeconds;
  if (clip === undefined || rule === null)
    throw new Error('an edit without a reference video was let through');
  if (clip < rule.minimum - clipErrorSeconds || clip > rule.maximum + clipErrorSeconds)
    throw refuseInput(
      'content',
      `the edited video must last ${rule.minimum} to ${rule.maximum} seconds; it lasts ${clip.toFixed(1)}.`,
    );
  return Math.min(Math.ceil(clip - measuringErrorSeconds), rule.maximum);
};

interface VideoOrder {
  /** The length of the output. -1 for an edit. */
  durationSeconds: number;
  resolution: VideoResolution;
  referenceSeconds: readonly number[];
}

/**
 * Returns the billed seconds of a video (docs/contract.md, "Video"). Without reference videos: its length. With reference
 * videos: their total rounded up plus its length, at least 5/3 of its length rounded up. An edit: their total rounded up.
 */
export const billedSeconds = ({
  durationSeconds,
  referenceSeconds,
}: Pick<VideoOrder, 'durationSeconds' | 'referenceSeconds'>): number => {
  if (referenceSeconds.length === 0) return durationSeconds;
  const total = referenceSeconds.reduce((sum, seconds) => sum + seconds, 0);
  const referenced = Math.ceil(total - measuringErrorSeconds);
  if (durationSeconds === -1) return referenced;
  return Math.max(referenced + durationSeconds, Math.ceil((durationSeconds * 5) / 3));
};

export const priceVideo = (price: Price, order: VideoOrder): { price: Nano; seconds: number } => {
  const { resolution, referenceSeconds } = order;
  const perSecond = secondPrice(price, resolution, referenceSeconds.length > 0);
  const seconds = billedSeconds(order);
  return { price: perSecond * BigInt(seconds), seconds };
};

const secondPrice = (price: Price, resolution: VideoResolution, hasReferenceVideo: boolean): Nano => {
  const rate = price.unit === 'second' ? price.rates.find((one) => one.resolution === resolution) : undefined;
  if (rate === undefined)
    throw refuseInput(
      'resolution',
      `this model does not make ${resolution}. See its rates in GET /v1/models.`,
    );
  const perSecond = hasReferenceVideo ? rate.withVideoPrice : rate.price;
  if (perSecond !== null) return perSecond;
  throw refuseInput(
    'resolution',
    `this model takes no reference videos at ${resolution}. See GET /v1/models.`,
  );
};

/** Returns the length of the output, -1 for an edit. Throws AppError on a length that the SKU does not make. */
export const durationOf = (rule: DurationRule, asked: number | null, hasReferenceVideo: boolean): number => {
  const refuse = (text: string): never => {
    throw refuseInput('duration', text);
  };
  if (asked === null) return rule.initial ?? refuse(`must be given for this model, ${rangeText(rule)}`);
  if (asked === -1) {
    if (!rule.edits) return refuse(`this model does not edit videos; must be ${rangeText(rule)}`);
    return hasReferenceVideo ? -1 : refuse('-1 edits a reference video; send one, or name a length');
  }
  return asked >= rule.minimum && asked <= rule.maximum ? asked : refuse(`must be ${rangeText(rule)}`);
};

const rangeText = ({ minimum, maximum, edits }: DurationRule): string =>
  `${minimum} to ${maximum} seconds${edits ? ', or -1 to edit a reference video' : ''}`;
