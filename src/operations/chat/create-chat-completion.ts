import { soldOperation } from '../define-operation.ts';
import {
  type TextServices,
  leastTextHold,
  openTextJob,
  promptTokensUpperBound,
  quoteText,
} from './text-job.ts';
import type { ChatJobRequest } from './run-chat.ts';
import { textJobShare } from '../../limits/memory-budget.ts';
import type { TextMessage } from '../../providers/text/text-provider.ts';
import type { Job } from '../../store/store.ts';
import { chatInput, forwardedOptions, type ChatInput, withoutNull } from './chat-input.ts';
import { chatChunkSchema, chatCompletionSchema } from './chat-completion-schema.ts';
import { createChatCompletionExamples } from './chat-examples.ts';
import { createChatStream } from './chat-stream.ts';
import { checkChatMedia, checkInlineMedia, namesRemoteImages, takeChatImages } from './take-chat-images.ts';
import { findModel } from '../../accounts/catalog/catalog.ts';
import type { ModelConfig } from '../../accounts/catalog/model.ts';
import type { PrepaidSale } from '../sale.ts';
import { answerTextJob, isStreamed, onceFor, textTask } from './answer-text-job.ts';
import { assertAffordable } from '../prepaid.ts';

/** The upper bound of prompt tokens for an image or audio part. Vision models bill less. */
const tokensPerImage = 8_192;

export const createChatCompletion = soldOperation<
  ChatInput,
  PrepaidSale<ChatInput, ModelConfig, TextServices>
>({
  name: 'create_chat_completion',
  title: 'Ask a text model',
  description:
    'Answers a conversation with a text model, OpenAI-compatible; priced by tokens used. An answer that takes ' +
    'longer than the wait goes on as a job: read it with get_job by the id in the error.',
  sells: 'chat',
  input: chatInput,
  output: chatCompletionSchema,
  rest: {
    path: '/v1/chat/completions',
    validation: 'both',
    errors: ['content_policy_violation', 'request_timeout', 'upstream_error'],
  },
  tool: { main: ['messages', 'model', 'max_completion_tokens'], task: textTask('chat') },
  docs: {
    answer: 'ChatCompletion',
    examples: createChatCompletionExamples,
    wrong: {},
    headers: {
      'X-Chat-Completion-Id': '`chatcmpl-` and the job id: the way to recover the answer.',
      'X-Conversation-Id':
        'The conversation_id of the request, with `%` and what a header cannot carry percent-encoded.',
    },
    stream: {
      description:
        'Server-sent events without names, each a ChatCompletionChunk as JSON: the role, pieces, finish_reason, then ' +
        'one with empty choices and the usage, then `[DONE]`. A failure after the beginning is `{"error": {...}}` and ' +
        'ends the stream without `[DONE]`. Comment lines come every 15 s of silence.',
      eventName: 'ChatCompletionChunk',
      event: chatChunkSchema,
    },
  },
  sale: {
    kind: 'prepaid',
    waits: true,
    // The same request may be asked for as JSON and, later, as a stream.
    idempotentPart: ({ stream: _stream, stream_options: _options, ...rest }) => rest,

    perCall: {
      description: 'Chat completion',
      unit: { one: 'chat completion', many: 'chat completions' },
      tags: ['chat', 'text', 'llm', 'openai'],
      quote: (request, buyer, { catalogs }) =>
        quoteText(findModel(catalogs.for(buyer), 'chat', request.model), {
          kind: 'chat',
          ...sizesOf(request),
        }),
      check: async (request, call, services) => {
        const model = findModel(services.catalogs.for(call.caller), 'chat', request.model);
        await assertAffordable(leastTextHold(model, sizesOf(request)), call, services);
        await checkChatMedia(request.messages, call, services);
        return model;
      },
    },

    open: async (request, call, services, { idempotency, checked }) => {
      const model = checked ?? findModel(services.catalogs.for(call.caller), 'chat', request.model);
      if (checked === undefined) await checkInlineMedia(request.messages);
      const { options, promptTokens, outputLimit, ...sizes } = sizesOf(request);
      let { messages } = sizes;
      if (namesRemoteImages(request.messages)) {
        // Nobody has images fetched for a job that the account cannot pay.
        await assertAffordable(leastTextHold(model, { promptTokens, outputLimit }), call, services);
        call.memory.settleBody(textJobShare);
        messages = (await takeChatImages(request.messages, call, services)).map(toUpstreamMessage);
      }
      return openTextJob(
        {
          kind: 'chat',
          model,
          promptTokens,
          outputLimit,
          toParts: (terms) => {
            const work: ChatJobRequest = {
              messages,
              options,
              isWhole: !isStreamed(request, call),
              conversationId: request.conversation_id ?? null,
              isLegacyCall: asksLegacyCalls(request),
              ...terms,
            };
            return { work };
          },
          idempotency,
        },
        call,
        services,
      );
    },

    answer: ({ job }, request, call, services) =>
      answerTextJob(
        {
          job,
          headers: headersOf(job, request),
          stream: isStreamed(request, call)
            ? createChatStream(job, { isLegacyCall: asksLegacyCalls(request) })
            : null,
          readLater: `Read it with GET /v1/jobs/${job.id}.`,
        },
        call,
        services,
      ),
  },
});

/** Tells whether function calls are answered in the legacy form, which has room for one: where `tools` offers none. */
const asksLegacyCalls = ({ functions, tools }: ChatInput): boolean =>
  (functions ?? []).length > 0 && (tools ?? []).length === 0;

/** Returns what goes upstream of a request, and its size. */
const sizesOf = onceFor((request: ChatInput) => {
  const messages = request.messages.map(toUpstreamMessage);
  const options = forwardedOptions(request);
  return {
    messages,
    options,
    // An image counts the same, whether it is here or still an address.
    promptTokens: promptTokensUpperBound({ messages, options }, tokensPerImage),
    outputLimit: request.max_completion_tokens ?? request.max_tokens ?? null,
  };
});

const headersOf = (job: Job, request: ChatInput): Record<string, string> => ({
  'cache-control': 'no-store',
  'x-chat-completion-id': `chatcmpl-${job.id}`,
  ...conversationHeader(request.conversation_id ?? ''),
});

/** In UTF-8. Three times as many, percent-encoded, fit into the 16 KiB that common clients accept for all headers. */
const maxConversationIdBytes = 4_096;

const conversationHeader = (id: string): Record<string, string> => {
  if (id === '' || Buffer.byteLength(id) > maxConversationIdBytes) return {};
  // A percent sign is always encoded, so that decoding returns the id.
  return { 'x-conversation-id': id.toWellFormed().replace(/[^ -$&-~]|^ | $/gu, encodeURIComponent) };
};

/** Removes participant names, which never reach an upstream. The legacy function role keeps the name that it needs. */
const toUpstreamMessage = ({
  name,
  audio,
  annotations: _annotations,
  ...message
}: ChatInput['messages'][number]): TextMessage => {
  const kept = withoutNull(message) as unknown as TextMessage;
  kept.content = Array.isArray(message.content)
    ? message.content.map((part) => withoutNull(part))
    : (message.content ?? null);
  if (message.role === 'function' && typeof name === 'string') kept.name = name;
  if (message.role === 'assistant' && typeof audio?.['id'] === 'string') kept.audio = { id: audio['id'] };
  return kept;
};
