import { z } from 'zod';
import { AppError, errorTable, toErrorCode } from '../../kit/errors.ts';
import { isSandboxJob, isTerminal, providerOf, retryAfterMsOf, toPublicJob } from '../../jobs/public-job.ts';
import { type Nano, formatUsd } from '../../kit/money.ts';
import type { KnownJob } from '../../jobs/job-runner.ts';
import type { Job } from '../../store/store.ts';
import { type JsonAnswer, jsonAnswer, type MediaLink } from '../answer.ts';
import type { AccountCall, Services, OperationSettings } from '../call.ts';
import { errorEnvelope, sandboxMark, time, usd } from '../answer-fields.ts';
import { chatCompletionSchema } from '../chat/chat-completion-schema.ts';
import { responseSchema } from '../responses/response-schema.ts';
import { opaque } from '../schema-marks.ts';
import { videoKeepMs } from '../videos/run-video.ts';
import { toolResult } from '../tools/run-tool.ts';

export const jobSchema = z.looseObject({
  id: z.string().describe('Job id (UUID).'),
  status: z.enum(['queued', 'running', 'done', 'failed']),
  model: z.string(),
  created_at: time.describe('ISO 8601.'),
  finished_at: time.nullable(),
  custom_data: z.record(z.string(), z.unknown()),
  data: z
    .array(z.looseObject({ url: z.string(), revised_prompt: z.string().nullable() }))
    .describe('Images; empty until status is done.'),
  error: errorEnvelope.nullable(),
  usage: z.looseObject({ cost_usd: usd.optional(), balance_remaining_usd: usd.optional() }),
  response: opaque(
    z
      .union([chatCompletionSchema, responseSchema, toolResult])
      .optional()
      .describe('What a done chat, response or call of a tool answered.'),
  ),
  ...sandboxMark,
});

const mimeTypes: Record<string, string> = { png: 'image/png', jpg: 'image/jpeg', webp: 'image/webp' };

/** The services of an operation that waits for a job, and tells of it. */
export type JobServices = Pick<Services, 'store' | 'config' | 'jobs' | 'clock' | 'films'>;

/** Answers the present state of a job, with the present balance. */
export const toJobAnswer = (
  job: KnownJob,
  status: 200 | 202,
  services: Pick<Services, 'store' | 'config' | 'films' | 'clock'>,
): Promise<JsonAnswer> =>
  answerJob(job, services, (available) => {
    const body = toPublicJob(job, available);
    const url = job.kind === 'video' ? filmUrlOf(job, services) : null;
    return {
      body,
      status,
      links: url === null ? linksOf(body['data']) : [{ url, name: job.id, mimeType: null }],
    };
  });

/** Returns the address of a video's film; null while there is none, and when its content has expired. */
export const filmUrlOf = (job: Job, { films, clock }: Pick<Services, 'films' | 'clock'>): string | null => {
  const isKept = job.status === 'done' && clock.now() < (job.finishedAt ?? 0) + videoKeepMs;
  return isKept ? films.urlOf(job.id) : null;
};

/** Makes an answer about a job from what its account has available. */
export const answerJob = async (
  job: KnownJob,
  { store, config }: Pick<Services, 'store' | 'config'>,
  toAnswer: (available: Nano) => Pick<JsonAnswer, 'body' | 'status' | 'links'>,
): Promise<JsonAnswer> => {
  const account = job.available === undefined ? await store.getAccount(job.accountId) : null;
  const available = job.available ?? (account === null ? 0n : account.balance - account.held);
  const { body, ...rest } = toAnswer(available);
  return jsonAnswer(body, {
    ...rest,
    headers: { 'cache-control': 'no-store', ...billHeaders({ ...job, available }, config) },
    isSandbox: isSandboxJob(job),
  });
};

const linksOf = (data: unknown): MediaLink[] => {
  if (!Array.isArray(data)) return [];
  return data.flatMap((item: { url?: unknown }) => {
    if (typeof item.url !== 'string') return [];
    const name = item.url.slice(item.url.lastIndexOf('/') + 1);
    return [
      {
        url: item.url,
        name,
        mimeType: mimeTypes[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
      },
    ];
  });
};

/** The longest wait of a call over MCP. Clients give up after about a minute. */
const longestMcpWaitMs = 45_000;

export const waitMsField = z.int().min(0).max(longestMcpWaitMs).optional();

const progressEveryMs = 5_000;

/** Waits up to `timeoutMs` for a job's end, over MCP up to `longestMcpMs`. Reports progress to a client that asked for it. */
export const waitForEnd = async (
  { job, timeoutMs, longestMcpMs = longestMcpWaitMs }: { job: Job; timeoutMs: number; longestMcpMs?: number },
  { transport, signal, progress }: Pick<AccountCall, 'transport' | 'signal' | 'progress'>,
  { jobs, clock }: Pick<Services, 'jobs' | 'clock'>,
): Promise<KnownJob> => {
  const startedAt = clock.now();
  const message = `job ${job.id} is being worked on`;
  const timer =
    progress &&
    setInterval(() => progress({ progress: (clock.now() - startedAt) / 1_000, message }), progressEveryMs);
  const limitMs = transport === 'mcp' ? Math.min(timeoutMs, longestMcpMs) : timeoutMs;
  try {
    return await jobs.wait({ job, timeoutMs: limitMs, signal });
  } finally {
    clearInterval(timer);
  }
};

/** The least and the most that a client waits before it repeats a request that an upstream refused because of load. */
const [leastRetrySeconds, mostRetrySeconds] = [5, 3_600];

/** Makes the error of a failed job. The process that ran the job has logged the cause. */
export const toJobError = (job: Job, headers: Record<string, string>): AppError => {
  const code = toErrorCode(job.error?.code);
  const status = errorTable[code][0];
  const known = Math.max(leastRetrySeconds, retryAfterMsOf(job) / 1_000);
  const retryAfterSeconds = Math.min(mostRetrySeconds, known);
  return new AppError(code, job.error?.message ?? 'The job failed. It was not charged.', {
    headers,
    isLogged: true,
    ...(status === 429 || status === 503 ? { retryAfterSeconds } : {}),
  });
};

/** Returns what an ended job answers. Throws its error, or AppError `request_timeout` with this text if it goes on. */
export const keptAnswer = (job: Job, headers: Record<string, string>, goesOn: string): string => {
  if (!isTerminal(job))
    throw new AppError('request_timeout', goesOn, { headers: { ...headers, 'x-should-retry': 'false' } });
  if (job.status === 'failed') throw toJobError(job, headers);
  if (job.result === null)
    throw new AppError('content_expired', 'The answer was kept for its time and is gone.', { headers });
  return job.result;
};

/** The headers with the cost and the provider of a job, by their names after `x-<brand>-`. */
export const billHeaderTexts = {
  Provider: 'The name of the provider that answered, as the operator calls it.',
  'Charge-Usd': 'The price that was charged for the job; `0.00` when it failed. Absent while the job runs.',
  'Hold-Usd': 'The amount that is held for the job while it runs. The charge is at most this.',
  'Balance-Usd':
    'The available balance just after the charge. Absent where it is not at hand, as on some repeats.',
};

/** Returns the known ones of these headers. `provider`: for an answer that has just begun. */
export const billHeaders = (
  job: KnownJob,
  { brand }: Pick<OperationSettings, 'brand'>,
  provider: string | null = providerOf(job),
): Record<string, string> => ({
  ...(provider === null ? {} : { [`x-${brand}-provider`]: provider }),
  ...(job.holdState === 'open'
    ? { [`x-${brand}-hold-usd`]: formatUsd(job.hold) }
    : { [`x-${brand}-charge-usd`]: formatUsd(job.charged) }),
  ...(job.available === undefined ? {} : { [`x-${brand}-balance-usd`]: formatUsd(job.available) }),
});
