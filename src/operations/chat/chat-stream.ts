import type { JobEvent } from '../../jobs/executor.ts';
import type { LiveJob } from '../../jobs/job-runner.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { Job } from '../../store/store.ts';
import { toJobError } from '../jobs/job-answer.ts';
import type { ServerSentEvent } from '../operation.ts';

interface StreamedCompletion {
  created: number;
  choices: [{ message: StreamedMessage; finish_reason: string; logprobs: JsonObject | null }];
  usage: JsonObject;
  metadata?: JsonObject;
}

interface StreamedMessage {
  content: string | null;
  reasoning_content?: string;
  refusal: string | null;
  tool_calls?: JsonObject[];
  function_call?: JsonObject;
  annotations?: JsonObject[];
  audio?: JsonObject;
}

const chunk = (job: Job, rest: JsonObject): ServerSentEvent => ({
  data: JSON.stringify({
    id: `chatcmpl-${job.id}`,
    object: 'chat.completion.chunk',
    created: Math.floor(job.createdAt / 1000),
    model: job.model,
    ...rest,
  }),
});

const deltaChunk = (
  job: Job,
  delta: JsonObject,
  { logprobs, finishReason = null }: { logprobs?: JsonObject | null; finishReason?: string | null } = {},
): ServerSentEvent =>
  chunk(job, {
    choices: [
      {
        index: 0,
        delta,
        ...(logprobs === undefined || logprobs === null ? {} : { logprobs }),
        finish_reason: finishReason,
      },
    ],
  });

/** Streams a job that runs in this process: the role, each piece when it arrives, then the end. */
export async function* streamLiveChat(
  { job, live, isLegacyCall }: { job: Job; live: LiveJob; isLegacyCall: boolean },
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent, void, void> {
  yield deltaChunk(job, { role: 'assistant', content: '' });
  for await (const event of live.feed.read(signal))
    yield deltaChunk(job, toDelta(event, isLegacyCall), { logprobs: logprobsOf(event) });
  if (signal.aborted) return;
  const finished = await live.finished;
  yield* closing(finished);
}

/** Streams a finished job in the same form, for replays and for jobs that ran in another process. */
export async function* streamFinishedChat(job: Job): AsyncGenerator<ServerSentEvent, void, void> {
  yield deltaChunk(job, { role: 'assistant', content: '' });
  if (job.status === 'done') {
    const { message, logprobs } = completionOf(job).choices[0];
    const { reasoning_content: reasoning, content, annotations, audio } = message;
    if (reasoning !== undefined) yield deltaChunk(job, { reasoning_content: reasoning });
    const hasContent = content !== null && content !== '';
    if (hasContent || logprobs !== null) yield deltaChunk(job, hasContent ? { content } : {}, { logprobs });
    if (annotations !== undefined) yield deltaChunk(job, { annotations });
    if (audio !== undefined) yield deltaChunk(job, { audio });
    if (message.refusal !== null) yield deltaChunk(job, { refusal: message.refusal });
    if (message.function_call !== undefined) yield deltaChunk(job, { function_call: message.function_call });
    if (message.tool_calls !== undefined)
      yield deltaChunk(job, { tool_calls: message.tool_calls.map((call, index) => ({ index, ...call })) });
  }
  yield* closing(job);
}

function* closing(job: Job): Generator<ServerSentEvent, void, void> {
  if (job.status !== 'done') {
    yield { data: JSON.stringify({ error: toJobError(job, {}).toEnvelope() }) };
    return;
  }
  const { choices, usage, metadata } = completionOf(job);
  yield deltaChunk(job, {}, { finishReason: choices[0].finish_reason });
  yield chunk(job, { choices: [], usage, ...(metadata === undefined ? {} : { metadata }) });
  yield { data: '[DONE]' };
}

const completionOf = (job: Job): StreamedCompletion => {
  if (job.result === null) throw new Error(`chat job ${job.id} is done without a result`);
  return JSON.parse(job.result) as StreamedCompletion;
};

const toDelta = (event: JobEvent, isLegacyCall: boolean): JsonObject => {
  switch (event.type) {
    case 'content':
      return {
        ...(event.text === '' ? {} : { content: event.text }),
        ...(event.extras?.annotations === undefined ? {} : { annotations: event.extras.annotations }),
        ...(event.extras?.audio === undefined ? {} : { audio: event.extras.audio }),
      };
    case 'reasoning':
      return { reasoning_content: event.text };
    case 'refusal':
      return { refusal: event.text };
    case 'tool_call': {
      const call: JsonObject = { arguments: event.arguments };
      if (event.name !== undefined) call['name'] = event.name;
      if (isLegacyCall) return { function_call: call };
      const delta: JsonObject = { index: event.index, function: call };
      if (event.id !== undefined) Object.assign(delta, { id: event.id, type: 'function' });
      if (event.extraContent !== undefined) delta['extra_content'] = event.extraContent;
      return { tool_calls: [delta] };
    }
  }
};

const logprobsOf = (event: JobEvent): JsonObject | null => {
  const logprobs = event.type === 'content' ? event.extras?.logprobs : undefined;
  if (logprobs === undefined) return null;
  const { content, refusal } = logprobs;
  return { content: content.length === 0 ? null : content, refusal: refusal.length === 0 ? null : refusal };
};
