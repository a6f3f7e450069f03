import { z } from 'zod';
import { AppError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { ModelConfig } from '../config.ts';
import { chargeFor, freezePrice, promptTokensUpperBound, type ChatJobRequest } from '../jobs/chat-job.ts';
import { leaseMs } from '../jobs/job-runner.ts';
import { isTerminal } from '../jobs/wait-for-job.ts';
import { unitsAffordable, type Nano } from '../money.ts';
import { isSandboxJob } from '../jobs/public-job.ts';
import type { TextMessage } from '../providers/text/text-provider.ts';
import { insufficientBalance, openPrepaid } from '../purchases/prepaid.ts';
import type { Job } from '../store/store.ts';
import { chatInput, forwardedOptions, mostOutputTokens, type ChatInput } from './chat-input.ts';
import { streamFinishedChat, streamLiveChat } from './chat-stream.ts';
import { waitLimit, waitWithProgress } from './job-answer.ts';
import { toJobError } from './job-error.ts';
import type { AccountCall, Idempotency, JobOperation, OpenedJob, Services } from './operation.ts';

/** Members that mean nothing, or nothing more, to a caller over MCP. */
const restOnly = [
  'stream',
  'stream_options',
  'n',
  'best_of',
  'candidate_count',
  'num_return_sequences',
  'store',
  'metadata',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'extra_body',
  'functions',
  'function_call',
  'webhook_url',
  'custom_data',
];
/** What an image or audio part may count in prompt tokens; vision models bill below this. */
const tokensPerImage = 8_192;
/** Balances move between reading and holding; then the limit is lowered again, this often at most. */
const openAttempts = 4;
/** A stream's status line waits this long for the answer to begin, so that an early failure is a plain error. */
const streamStartMs = 10_000;

const usage = z.looseObject({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
});

const output = z.looseObject({
  id: z.string().describe('chatcmpl- and the job id.'),
  object: z.literal('chat.completion'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.looseObject({
      index: z.int(),
      message: z.looseObject({ role: z.literal('assistant'), content: z.string().nullable() }),
      finish_reason: z.string().nullable(),
    }),
  ),
  usage,
  conversation_id: z.string().nullable(),
});

export const createChatCompletion: JobOperation<ChatInput> = {
  name: 'create_chat_completion',
  title: 'Ask a text model',
  description:
    'Answers a conversation with a text model, OpenAI-compatible; priced by tokens used. An answer that takes ' +
    'longer than the wait goes on as a job: read it with get_job by the id in the error.',
  group: 'generation',
  sells: 'chat',
  payment: 'hold',
  input: chatInput,
  output,
  rest: {
    method: 'POST',
    path: '/v1/chat/completions',
    query: [],
    validation: 'both',
    streams: true,
    errors: [
      'invalid_api_key',
      'insufficient_balance',
      'model_not_found',
      'content_policy_violation',
      'request_timeout',
      'idempotency_conflict',
      'invalid_parameter',
      'rate_limit_exceeded',
      'upstream_error',
      'upstream_unavailable',
    ],
  },
  tool: {
    omit: restOnly,
    readOnly: false,
    idempotent: false,
    openWorld: true,
  },
  // The same request may be asked for as JSON and, later, as a stream.
  idempotentPart: ({ stream: _stream, stream_options: _options, ...rest }) => rest,

  open: async (request, call, services, idempotency) => {
    const model = findModel(services, request.model);
    if (model === null)
      throw new AppError('model_not_found', 'model: there is no such chat SKU. See GET /v1/models.', {
        param: 'model',
      });
    return openChat({ request, model, call, services, idempotency });
  },

  answer: async ({ job }, request, call, services) => {
    const headers = headersOf(job, request);
    const live = services.jobs.live(job.id);
    if (request.stream === true) return answerStream({ job, live, request, headers, call, services });
    const timeoutMs = waitLimit(call.transport, services.config.chatDeadlineMs);
    const finished = await waitWithProgress({ job, timeoutMs }, call, services);
    return toCompletionAnswer(finished, headers);
  },
};

const headersOf = (job: Job, request: ChatInput): Record<string, string> => ({
  'cache-control': 'no-store',
  'x-chat-completion-id': `chatcmpl-${job.id}`,
  ...(typeof request.conversation_id === 'string' && /^[\x20-\x7e]{1,256}$/.test(request.conversation_id)
    ? { 'x-conversation-id': request.conversation_id }
    : {}),
});

const toCompletionAnswer = (job: Job, headers: Record<string, string>) => {
  if (!isTerminal(job))
    throw new AppError(
      'request_timeout',
      `The answer takes longer than this request may wait; it goes on. Read it with GET /v1/jobs/${job.id} ` +
        '(get_job over MCP).',
      { headers: { ...headers, 'x-should-retry': 'false' } },
    );
  if (job.status === 'failed' || job.result === null) throw toJobError(job, headers);
  return {
    kind: 'json' as const,
    status: 200 as const,
    body: JSON.parse(job.result),
    headers,
    isSandbox: isSandboxJob(job),
    links: [],
  };
};

interface AnswerStreamInput {
  job: Job;
  live: ReturnType<Services['jobs']['live']>;
  request: ChatInput;
  headers: Record<string, string>;
  call: AccountCall;
  services: Services;
}

const answerStream = async ({ job, live, request, headers, call, services }: AnswerStreamInput) => {
  if (live === null) return answerStreamFromElsewhere({ job, headers, call, services });
  await live.feed.started(streamStartMs);
  const isLegacyCall = Array.isArray(request.functions);
  const events = streamLiveChat({ job, live, isLegacyCall }, call.signal);
  if (services.jobs.live(job.id) !== null) return { kind: 'stream' as const, headers, events };
  // It ended before the first byte was due: a failure is then a plain error.
  const finished = await live.finished;
  if (finished.status === 'failed') throw toJobError(finished, headers);
  return { kind: 'stream' as const, headers, events };
};

/** The stream of a job that ran, or runs in another process: then its end is waited for. */
const answerStreamFromElsewhere = async ({
  job,
  headers,
  call: { signal },
  services: { jobs, config },
}: Pick<AnswerStreamInput, 'job' | 'headers' | 'call' | 'services'>) => {
  const early = await jobs.wait({ job, timeoutMs: streamStartMs, signal });
  if (isTerminal(early)) {
    if (early.status === 'failed') throw toJobError(early, headers);
    return { kind: 'stream' as const, headers, events: streamFinishedChat(early) };
  }
  const events = async function* () {
    yield* streamFinishedChat(await jobs.wait({ job, timeoutMs: config.chatDeadlineMs, signal }));
  };
  return { kind: 'stream' as const, headers, events: events() };
};

const defaultSku = 'textmodel-3.5-flash';

const findModel = ({ catalog }: Services, sku: string | undefined): ModelConfig | null =>
  sku === undefined
    ? (catalog.find(defaultSku, 'chat') ?? catalog.list().find(({ kind }) => kind === 'chat') ?? null)
    : catalog.find(sku, 'chat');

interface OpenChatInput {
  request: ChatInput;
  model: ModelConfig;
  call: AccountCall;
  services: Services;
  idempotency: Idempotency | null;
}

/** Holds the worst case: a bound of the prompt, and the output limit, lowered to what the balance affords when the caller set none. */
const openChat = async ({
  request,
  model,
  call,
  services,
  idempotency,
}: OpenChatInput): Promise<OpenedJob> => {
  const messages = request.messages.map(toUpstreamMessage);
  const options = forwardedOptions(request);
  const promptTokens = promptTokensUpperBound({ messages, options }, tokensPerImage);
  const asked = request.max_completion_tokens ?? request.max_tokens ?? null;
  const price = freezePrice(model.price);
  const holdFor = (completionTokens: number): Nano => chargeFor(price, { promptTokens, completionTokens });

  let { available } = call.caller;
  for (let attempt = 1; ; attempt += 1) {
    const limit = asked ?? affordableOutput(model, available - holdFor(0));
    const hold = holdFor(Math.max(limit, 1));
    const work: ChatJobRequest = {
      messages,
      options,
      maxOutputTokens: limit,
      conversationId: request.conversation_id ?? null,
      price,
    };
    const now = services.clock.now();
    const opened = await openPrepaid(services, {
      job: {
        id: newId(),
        accountId: call.caller.accountId,
        keyId: call.caller.keyId,
        kind: 'chat',
        model: model.sku,
        status: 'running',
        leaseOwner: services.jobs.owner,
        leaseUntil: now + leaseMs,
        maxAttempts: 1,
        deadlineAt: now + services.config.chatDeadlineMs,
        request: JSON.stringify(work),
        customData: null,
      },
      hold,
      idempotency,
    });
    if (opened.outcome === 'opened') services.jobs.start(opened.job);
    if (opened.outcome !== 'insufficient')
      return { job: opened.job, isReplayed: opened.outcome === 'replayed' };
    available = opened.available;
    if (asked !== null || attempt >= openAttempts || available < holdFor(1))
      throw insufficientBalance(hold, available);
  }
};

const affordableOutput = (model: ModelConfig, budget: Nano): number =>
  model.price.unit === 'call'
    ? mostOutputTokens
    : Math.min(mostOutputTokens, unitsAffordable(budget, model.price.output));

/** Without participant names, which never reach an upstream, but for the legacy function role, which needs its own. */
const toUpstreamMessage = ({ name, ...message }: ChatInput['messages'][number]): TextMessage => {
  const entries = Object.entries(message).filter(([, value]) => value !== undefined && value !== null);
  const kept = Object.fromEntries(entries) as unknown as TextMessage;
  if (kept.content === undefined) kept.content = null;
  return message.role === 'function' && typeof name === 'string' ? { ...kept, name } : kept;
};
