import { errorTable } from '../../kit/errors.ts';
import { reference } from './schema-book.ts';

const text = { type: 'string' };

/** `metadata` of what a sandbox made. */
export const sandboxMarkSchema = {
  type: 'object',
  description: 'There only when a sandbox made the result, with no real model behind it.',
  properties: { sandbox: { type: 'boolean', const: true } },
  required: ['sandbox'],
};

/** What is wrong, in refusals and in failed jobs. */
export const errorEnvelopeSchema = {
  type: 'object',
  description: 'What went wrong, and what to do.',
  required: ['type', 'code', 'message'],
  properties: {
    type: { type: 'string', enum: [...new Set(Object.values(errorTable).map(([, type]) => type))] },
    code: { type: 'string', enum: Object.keys(errorTable) },
    message: { type: 'string', description: 'Says what to do. Fixed text, but for refusals by policy.' },
    param: {
      type: ['string', 'null'],
      description: 'The offending field; one within others as `messages.0.content`.',
    },
  },
};

/** `{error: ...}`, the body of every refusal. */
export const errorSchema = {
  type: 'object',
  description: 'The body of every refusal.',
  required: ['error'],
  properties: { error: reference('ErrorEnvelope') },
};

/** The body of a 422 where more than one field may be wrong. */
export const validationErrorsSchema = {
  type: 'object',
  description: 'Every wrong field of a request.',
  required: ['detail'],
  properties: {
    detail: {
      type: 'array',
      items: {
        type: 'object',
        required: ['loc', 'msg', 'type'],
        properties: {
          loc: {
            type: 'array',
            items: { type: ['string', 'integer'] },
            description:
              'The way to the field, beginning with query, body, path or header; indices of arrays are integers.',
          },
          msg: text,
          type: text,
        },
      },
    },
  },
};

/** The body of a 402 of search. */
export const paymentRequiredBodySchema = {
  type: 'object',
  description: 'The terms of a payment: a summary for people, and x402 v1 terms.',
  required: ['error', 'x402', 'x402Version', 'accepts'],
  properties: {
    error: text,
    x402: {
      type: 'object',
      required: ['version', 'amount', 'asset', 'payTo', 'chain'],
      properties: Object.fromEntries(
        ['version', 'amount', 'asset', 'payTo', 'chain'].map((name) => [name, text]),
      ),
    },
    x402Version: { type: 'integer', const: 1 },
    accepts: {
      type: 'array',
      minItems: 1,
      description: 'x402 v1 payment requirements, one a network.',
      items: {
        type: 'object',
        required: [
          'scheme',
          'network',
          'maxAmountRequired',
          'resource',
          'payTo',
          'maxTimeoutSeconds',
          'asset',
        ],
        properties: {
          scheme: { type: 'string', const: 'exact' },
          network: text,
          maxAmountRequired: { type: 'string', description: "In the asset's smallest unit." },
          resource: text,
          description: text,
          mimeType: text,
          payTo: text,
          maxTimeoutSeconds: { type: 'integer' },
          asset: text,
          extra: { type: 'object' },
        },
      },
    },
  },
};

/** One `data:` line of a streamed chat completion. */
export const chatChunkSchema = {
  type: 'object',
  description: 'One event of a streamed chat completion. The last one has empty choices and the usage.',
  required: ['id', 'object', 'created', 'model', 'choices'],
  properties: {
    id: text,
    object: { type: 'string', const: 'chat.completion.chunk' },
    created: { type: 'integer', description: 'Unix seconds.' },
    model: text,
    choices: {
      type: 'array',
      items: {
        type: 'object',
        required: ['index', 'delta', 'finish_reason'],
        properties: {
          index: { type: 'integer', minimum: 0 },
          delta: {
            type: 'object',
            properties: {
              role: { type: 'string', const: 'assistant' },
              content: text,
              reasoning_content: text,
              refusal: text,
              tool_calls: { type: 'array', items: { type: 'object' } },
              function_call: { type: 'object' },
              annotations: { type: 'array', items: { type: 'object' } },
              audio: { type: 'object' },
            },
          },
          logprobs: { type: 'object', description: 'Of the tokens of this piece.' },
          finish_reason: { type: ['string', 'null'] },
        },
      },
    },
    usage: { type: 'object', description: 'In the last event only.' },
  },
};

/** One event of a streamed response. */
export const responseEventSchema = {
  type: 'object',
  description: 'One event of a streamed response; `type` is also its `event:` line.',
  required: ['type', 'sequence_number'],
  properties: {
    type: {
      type: 'string',
      enum: [
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.delta',
        'response.output_text.done',
        'response.refusal.delta',
        'response.refusal.done',
        'response.reasoning_text.delta',
        'response.reasoning_text.done',
        'response.content_part.done',
        'response.function_call_arguments.delta',
        'response.function_call_arguments.done',
        'response.output_item.done',
        'response.completed',
        'response.incomplete',
        'response.failed',
      ],
    },
    sequence_number: { type: 'integer', minimum: 0, description: 'From 0, one up an event.' },
    output_index: { type: 'integer', minimum: 0 },
    content_index: { type: 'integer', minimum: 0 },
    item_id: text,
    delta: text,
    logprobs: { type: 'array', items: {} },
    response: { type: 'object', description: 'In the first two events and the last one.' },
  },
};

/** The callback of an image job's end. */
export const jobEventSchema = {
  type: 'object',
  description: 'The frozen terminal form of an image job.',
  required: [
    'event_id',
    'id',
    'status',
    'model',
    'created_at',
    'finished_at',
    'custom_data',
    'data',
    'error',
  ],
  properties: {
    event_id: { type: 'string', format: 'uuid', description: 'The same in every delivery of this event.' },
    id: { type: 'string', format: 'uuid', description: 'Job id.' },
    status: { type: 'string', enum: ['done', 'failed'] },
    model: text,
    created_at: { type: 'string', format: 'date-time' },
    finished_at: { type: 'string', format: 'date-time' },
    custom_data: { type: 'object', description: 'As it was sent.' },
    data: {
      type: 'array',
      description: 'Empty for a failed job.',
      items: {
        type: 'object',
        required: ['url'],
        properties: { url: text, revised_prompt: { type: ['string', 'null'] } },
      },
    },
    error: { anyOf: [reference('ErrorEnvelope'), { type: 'null' }] },
  },
};
