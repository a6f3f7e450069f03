import { soldOperation } from '../define-operation.ts';
import {
  type TextServices,
  leastTextHold,
  openTextJob,
  promptTokensUpperBound,
  quoteText,
  type TextJobRequest,
} from '../chat/text-job.ts';
import {
  type KeptRequest,
  responseId,
  responseIdHeader,
  toChatOptions,
  toKeptParameters,
  toShownRequest,
} from './response-object.ts';
import { smallBodyBytes, textJobCostPerByte } from '../../limits/memory-budget.ts';
import { needsAccount } from '../per-call-sale.ts';
import { assertAffordable } from '../prepaid.ts';
import { findModel } from '../../accounts/catalog/catalog.ts';
import type { ModelConfig } from '../../accounts/catalog/model.ts';
import type { PrepaidSale } from '../sale.ts';
import { responseEventSchema, responseSchema } from './response-schema.ts';
import { createResponseExamples } from './response-examples.ts';
import { boundPart, responseInput, type ResponseInput, checkResponseRequest } from './response-input.ts';
import { toMessages, hasReferences, resolveReferences } from './response-messages.ts';
import { createResponseStream } from './response-stream.ts';
import { answerTextJob, isStreamed, onceFor, textTask } from '../chat/answer-text-job.ts';

const itemsOf = ({ input }: ResponseInput) =>
  typeof input === 'string' ? [{ role: 'user', content: input }] : input;

/** Returns the size of a request that refers to no earlier response. */
const sizeOf = onceFor((request: ResponseInput) => {
  const placed = itemsOf(request).map((item, index) => ({ item, param: `input.${index}` }));
  const messages = toMessages(placed, request.instructions ?? null);
  const promptTokens = promptTokensUpperBound({ messages, options: toChatOptions(request) }, 0);
  return { promptTokens, outputLimit: request.max_output_tokens ?? null };
});

export const createResponse = soldOperation<
  ResponseInput,
  PrepaidSale<ResponseInput, ModelConfig, TextServices>
>({
  name: 'create_response',
  title: 'Ask a text model, Responses form',
  description:
    "As create_chat_completion, in the form of OpenAI's Responses API, stateless: input is the whole conversation. " +
    'An answer that takes longer than the wait goes on: read it with get_response by the id in the error.',
  sells: 'chat',
  input: responseInput,
  output: responseSchema,
  rest: {
    path: '/v1/responses',
    validation: 'both',
    errors: [
      'unknown_parameter',
      'invalid_value',
      'input_too_large',
      'content_policy_violation',
      'request_timeout',
      'upstream_error',
    ],
  },
  tool: { main: ['input', 'model', 'instructions', 'max_output_tokens'], task: textTask('responses') },
  docs: {
    answer: 'Response',
    examples: createResponseExamples,
    wrong: {},
    headers: responseIdHeader,
    stream: {
      description:
        'Server-sent events with names, each a ResponseStreamEvent as JSON. Ends with response.completed, ' +
        'response.incomplete or response.failed. Comment lines come every 15 s of silence.',
      eventName: 'ResponseStreamEvent',
      event: responseEventSchema,
    },
  },
  sale: {
    kind: 'prepaid',
    waits: true,
    // The same request may be asked for as JSON and, later, as a stream.
    idempotentPart: boundPart,

    perCall: {
      description: 'Response of a text model',
      unit: { one: 'response', many: 'responses' },
      tags: ['responses', 'text', 'llm', 'openai'],
      quote: (request, buyer, { catalogs, config }) => {
        checkResponseRequest(request, config);
        if (hasReferences(itemsOf(request)))
          throw needsAccount('input: item_reference names earlier responses of an account');
        return quoteText(findModel(catalogs.for(buyer), 'chat', request.model), {
          kind: 'responses',
          ...sizeOf(request),
        });
      },
      check: async (request, call, services) => {
        const model = findModel(services.catalogs.for(call.caller), 'chat', request.model);
        await assertAffordable(leastTextHold(model, sizeOf(request)), call, services);
        return model;
      },
    },

    open: async (request, call, services, { idempotency, checked }) => {
      checkResponseRequest(request, services.config);
      const model = checked ?? findModel(services.catalogs.for(call.caller), 'chat', request.model);
      const { accountId } = call.caller;
      const items = itemsOf(request);
      const maxBytes = services.config.responsesMaxBytes;
      const placed = await resolveReferences(items, { store: services.store, accountId, maxBytes });
      const messages = toMessages(placed, request.instructions ?? null);
      const options = toChatOptions(request);
      const promptTokens = promptTokensUpperBound({ messages, options }, 0);
      // Referenced items count as sent items. A prompt has at most as many bytes as its bound has tokens.
      if (hasReferences(items) && promptTokens > smallBodyBytes)
        await call.memory.take(promptTokens * textJobCostPerByte, call.signal);
      return openTextJob(
        {
          kind: 'responses',
          model,
          promptTokens,
          outputLimit: request.max_output_tokens ?? null,
          toParts: (terms) => {
            const kept: KeptRequest = { shown: toShownRequest(request, terms.maxOutputTokens) };
            const isWhole = !isStreamed(request, call);
            const work: TextJobRequest = { messages, options, isWhole, ...terms };
            return { work, request: kept, parameters: toKeptParameters(request, terms.maxOutputTokens) };
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
          headers: { 'cache-control': 'no-store', 'x-response-id': responseId(job.id) },
          stream: isStreamed(request, call) ? createResponseStream(job.id) : null,
          readLater: `Read it with GET /v1/responses/${responseId(job.id)}.`,
        },
        call,
        services,
      ),
  },
});
