import { z } from 'zod';
import { AppError } from '../errors.ts';
import { newId } from '../ids.ts';
import { leaseMs } from '../jobs/job-runner.ts';
import type { ImageJobRequest } from '../jobs/run-image.ts';
import { formatUsd } from '../money.ts';
import { aspectRatios, type AspectRatio } from '../providers/image/image-provider.ts';
import { insufficientBalance, openPrepaid } from '../purchases/prepaid.ts';
import { toJobAnswer, waitLimit, waitWithProgress } from './job-answer.ts';
import { jobSchema } from './job-schema.ts';
import type { JobOperation } from './operation.ts';

const longestCustomData = 4096;
/** A queued image still waiting after this long fails, uncharged. */
const queueDeadlineMs = 3_600_000;
/** An image may be made again after a crash once: a lost call may have reached a paid upstream. */
const maxAttempts = 2;

const input = z.object({
  model: z.string().min(1).max(128).describe('An image SKU from list_models.'),
  prompt: z.string().min(1).max(262_144).describe('What to draw.'),
  aspect_ratio: z.enum(aspectRatios).nullish().describe('Default auto.'),
  size: z
    .string()
    .regex(/^(?:auto|[1-9]\d{0,4}x[1-9]\d{0,4})$/, 'must be WIDTHxHEIGHT or auto')
    .nullish()
    .describe('WIDTHxHEIGHT; mapped to the nearest aspect ratio.'),
  n: z.literal(1).nullish(),
  response_format: z.string().nullish().describe('Only `url`.'),
  image: z
    .union([z.string(), z.array(z.string())])
    .nullish()
    .describe('Leave empty: images are made from text.'),
  webhook_url: z.string().nullish(),
  custom_data: z
    .record(z.string(), z.json())
    .refine((data) => Buffer.byteLength(JSON.stringify(data)) <= longestCustomData, {
      message: `must be at most ${longestCustomData} bytes as JSON`,
    })
    .optional()
    .describe('Stored and echoed unchanged.'),
  async: z
    .boolean()
    .default(false)
    .describe('true answers at once with the queued job; read it with get_job.'),
});

type Input = z.infer<typeof input>;

export const createImage: JobOperation<Input> = {
  name: 'create_image',
  title: 'Make an image',
  description:
    'Makes an image from a text prompt; priced by call and charged only when it succeeds. Waits for the result; ' +
    'with async=true, or when it takes long, it answers with a pending job: read it with get_job. ' +
    'The image URL in data can be shown to people as it is.',
  group: 'generation',
  sells: 'image',
  payment: 'hold',
  input,
  output: jobSchema,
  rest: {
    method: 'POST',
    path: '/v1/images/generations',
    query: ['async'],
    validation: 'envelope',
    accepted: true,
    errors: [
      'invalid_api_key',
      'model_not_found',
      'insufficient_balance',
      'idempotency_conflict',
      'unsupported_response_format',
      'invalid_parameter',
      'webhook_temporarily_unavailable',
    ],
  },
  tool: { omit: [], readOnly: false, idempotent: false, openWorld: true },
  idempotentPart: ({ async: _async, ...rest }) => rest,

  open: async (request, { caller }, services, idempotency) => {
    refuseUnsupported(request);
    const model = services.catalog.find(request.model, 'image');
    if (model === null || model.price.unit !== 'call')
      throw new AppError('model_not_found', 'model: there is no such image SKU. See GET /v1/models.', {
        param: 'model',
      });
    const work: ImageJobRequest = {
      prompt: request.prompt,
      aspectRatio: ratioOf(request),
      priceUsd: formatUsd(model.price.price),
    };
    const now = services.clock.now();
    const opened = await openPrepaid(services, {
      job: {
        id: newId(),
        accountId: caller.accountId,
        keyId: caller.keyId,
        kind: 'image',
        model: model.sku,
        // Somebody waits for a synchronous image: it runs at once, in this process.
        ...(request.async
          ? { status: 'queued', leaseOwner: null, leaseUntil: null }
          : { status: 'running', leaseOwner: services.jobs.owner, leaseUntil: now + leaseMs }),
        maxAttempts,
        deadlineAt: now + queueDeadlineMs,
        request: JSON.stringify(work),
        customData: request.custom_data === undefined ? null : JSON.stringify(request.custom_data),
      },
      hold: model.price.price,
      idempotency,
    });
    if (opened.outcome === 'insufficient') throw insufficientBalance(model.price.price, opened.available);
    const isReplayed = opened.outcome === 'replayed';
    if (!isReplayed && opened.job.status === 'running') services.jobs.start(opened.job);
    return { job: opened.job, isReplayed };
  },

  answer: async ({ job }, request, call, services) => {
    if (request.async) return toJobAnswer(job, 202, services);
    const timeoutMs = waitLimit(call.transport, services.config.imageDeadlineMs);
    return toJobAnswer(await waitWithProgress({ job, timeoutMs }, call, services), 200, services);
  },
};

const refuseUnsupported = (request: Input): void => {
  if (typeof request.response_format === 'string' && request.response_format !== 'url')
    throw new AppError(
      'unsupported_response_format',
      'response_format: only "url" is served. Leave it out.',
      {
        param: 'response_format',
      },
    );
  if ((request.image?.length ?? 0) > 0)
    throw new AppError(
      'invalid_parameter',
      'image: this service makes images from text only. Leave it out.',
      {
        param: 'image',
      },
    );
  if (typeof request.webhook_url !== 'string') return;
  if (!request.async)
    throw new AppError('invalid_parameter', 'webhook_url: goes with async=true only.', {
      param: 'webhook_url',
    });
  throw new AppError(
    'webhook_temporarily_unavailable',
    'webhook_url: callbacks are not available now. Leave it out and read the job with GET /v1/jobs/{id}.',
    { param: 'webhook_url', retryAfterSeconds: 60 },
  );
};

const ratioOf = ({ size, aspect_ratio: ratio }: Input): AspectRatio =>
  typeof size === 'string' && size !== 'auto' ? nearestRatio(size) : (ratio ?? 'auto');

/** The ratio nearest to WIDTHxHEIGHT, by the logarithm of width over height, so that wide and tall count alike. */
const nearestRatio = (size: string): AspectRatio => {
  const wanted = logarithmOf(size.split('x'));
  const distance = (ratio: AspectRatio): number => Math.abs(logarithmOf(ratio.split(':')) - wanted);
  return aspectRatios
    .filter((ratio) => ratio !== 'auto')
    .reduce((best, ratio) => (distance(ratio) < distance(best) ? ratio : best));
};

const logarithmOf = ([width, height]: string[]): number => Math.log(Number(width) / Number(height));
