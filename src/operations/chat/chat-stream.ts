import type { JobEvent } from '../../jobs/executor.ts';
import { isTerminal } from '../../jobs/public-job.ts';
import { AppError } from '../../kit/errors.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { Job } from '../../store/store.ts';
import { toJobError } from '../jobs/job-answer.ts';
import type { ServerSentEvent } from '../answer.ts';
import type { TextStream } from './answer-text-job.ts';
import { chatHead, type ChatHead } from './run-chat.ts';

interface StreamedCompletion {
  choices: [{ message: StreamedMessage; finish_reason: string; logprobs: JsonObject | null }];
  usage: JsonObject;
  metadata?: JsonObject;
}

type StreamedMessage = JsonObject & { content: string | null; tool_calls?: JsonObject[] };

/** Makes the events of a chat completion: the role, the pieces, the end with the usage, `[DONE]`. */
export const createChatStream = (job: ChatHead, { isLegacyCall }: { isLegacyCall: boolean }): TextStream => {
  const chunk = (rest: JsonObject): ServerSentEvent => ({
    data: JSON.stringify({ ...chatHead(job, 'chat.completion.chunk'), ...rest }),
  });
  const delta = (
    members: JsonObject,
    logprobs: JsonObject | null = null,
    finishReason: string | null = null,
  ): ServerSentEvent =>
    chunk({
      choices: [
        {
          index: 0,
          delta: members,
          ...(logprobs === null ? {} : { logprobs }),
          finish_reason: finishReason,
        },
      ],
    });

  return {
    begin: () => [delta({ role: 'assistant', content: '' })],
    add: (piece) => [delta(toDelta(piece, isLegacyCall), logprobsOf(piece))],
    addStored: (ended) => {
      if (ended.status !== 'done') return [];
      const { message, logprobs } = completionOf(ended).choices[0];
      const { content } = message;
      const hasContent = content !== null && content !== '';
      const add = (name: string, value = message[name] ?? null) =>
        value === null ? [] : [delta({ [name]: value })];
      const calls = message.tool_calls?.map((call, index) => ({ index, ...call }));
      return [
        ...add('reasoning_content'),
        ...(hasContent || logprobs !== null ? [delta(hasContent ? { content } : {}, logprobs)] : []),
        ...['annotations', 'audio', 'refusal', 'function_call'].flatMap((name) => add(name)),
        ...add('tool_calls', calls),
      ];
    },
    end: (ended) => {
      if (ended.status !== 'done')
        return [{ data: JSON.stringify({ error: readError(ended).toEnvelope() }) }];
      const { choices, usage, metadata } = completionOf(ended);
      return [
        delta({}, null, choices[0].finish_reason),
        chunk({ choices: [], usage, ...(metadata === undefined ? {} : { metadata }) }),
        { data: '[DONE]' },
      ];
    },
  };
};

/** Returns why a stream ends without `[DONE]`. A chat that outlasts the wait goes on. */
const readError = (job: Job): AppError =>
  isTerminal(job)
    ? toJobError(job, {})
    : new AppError(
        'request_timeout',
        `The answer takes longer than this stream may wait; it goes on. Read it with GET /v1/jobs/${job.id}.`,
      );

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
