import { sandboxMarkSchema } from './shared-schemas.ts';

const text = { type: 'string' };
const count = { type: 'integer', minimum: 0 };
const orNull = (schema: { type: string }): object => ({ ...schema, type: [schema.type, 'null'] });
const object = (properties: object, required: readonly string[] = Object.keys(properties)): object => ({
  type: 'object',
  properties,
  required,
});

const counts = (...names: readonly string[]): object => ({
  type: ['object', 'null'],
  properties: Object.fromEntries(names.map((name) => [name, { type: ['integer', 'null'], minimum: 0 }])),
});

const completionMembers = {
  id: { ...text, description: '`chatcmpl-` and the job id.' },
  object: { ...text, const: 'chat.completion' },
  created: { type: 'integer', description: 'Unix seconds.' },
  model: { ...text, description: 'The SKU that was asked for.' },
  choices: {
    type: 'array',
    minItems: 1,
    maxItems: 1,
    items: object(
      {
        index: count,
        message: object(
          {
            role: { ...text, const: 'assistant' },
            content: orNull(text),
            reasoning_content: { ...orNull(text), description: 'Where the SKU returns it.' },
            refusal: orNull(text),
            tool_calls: {
              type: ['array', 'null'],
              description: 'Send them back exactly as they are, with their outputs after them.',
              items: object({
                id: text,
                type: { ...text, const: 'function' },
                function: object({ name: text, arguments: { ...text, description: 'JSON.' } }),
              }),
            },
            function_call: { type: ['object', 'null'], description: 'Legacy.' },
            annotations: { type: ['array', 'null'], items: { type: 'object' } },
            audio: { type: ['object', 'null'] },
          },
          ['role', 'content'],
        ),
        finish_reason: {
          ...orNull(text),
          description: '`stop`, `length`, `tool_calls`, `content_filter` or `function_call`.',
        },
        logprobs: { type: ['object', 'null'] },
      },
      ['index', 'message', 'finish_reason'],
    ),
  },
  usage: object(
    {
      prompt_tokens: { ...count, description: 'Billed at the input rate.' },
      completion_tokens: { ...count, description: 'Billed at the output rate, reasoning included.' },
      total_tokens: { ...count, description: 'The sum of the two.' },
      prompt_tokens_details: counts('cached_tokens', 'audio_tokens'),
      completion_tokens_details: counts(
        'reasoning_tokens',
        'audio_tokens',
        'accepted_prediction_tokens',
        'rejected_prediction_tokens',
      ),
    },
    ['prompt_tokens', 'completion_tokens', 'total_tokens'],
  ),
  conversation_id: { ...orNull(text), description: 'As it was sent.' },
};

/** The whole public chat completion; a model reads less of it in its tool's schema. */
export const chatCompletionSchema = object(
  { ...completionMembers, metadata: sandboxMarkSchema },
  Object.keys(completionMembers),
);

const outputItem = {
  type: 'object',
  description: 'A message, a function call or reasoning.',
  required: ['id', 'type'],
  properties: {
    id: text,
    type: { ...text, enum: ['message', 'function_call', 'reasoning'] },
    status: { ...text, enum: ['in_progress', 'completed', 'incomplete'] },
    role: { ...text, const: 'assistant', description: 'Of a message.' },
    content: {
      type: 'array',
      description: 'Of a message or of reasoning.',
      items: object(
        {
          type: { ...text, enum: ['output_text', 'refusal', 'reasoning_text'] },
          text,
          refusal: text,
          annotations: { type: 'array', items: { type: 'object' } },
          logprobs: { type: 'array', items: { type: 'object' } },
        },
        ['type'],
      ),
    },
    summary: { type: 'array', items: { type: 'object' }, description: 'Of reasoning.' },
    call_id: { ...text, description: 'Of a function call: its output names it.' },
    name: { ...text, description: 'Of a function call.' },
    arguments: { ...text, description: 'Of a function call: JSON.' },
  },
};

/** The whole public response; a model reads less of it in its tool's schema. */
export const responseSchema = object({
  id: { ...text, description: '`resp_` and the job id.' },
  object: { ...text, const: 'response' },
  created_at: { type: 'integer', description: 'Unix seconds.' },
  completed_at: { type: ['integer', 'null'], description: 'Unix seconds.' },
  status: { ...text, enum: ['in_progress', 'completed', 'incomplete', 'failed'] },
  model: { ...text, description: 'The SKU that was asked for.' },
  output: { type: 'array', items: outputItem },
  output_text: { ...text, description: 'All text of the output.' },
  usage: {
    type: ['object', 'null'],
    description: 'Null until the response has ended.',
    required: ['input_tokens', 'output_tokens', 'total_tokens'],
    properties: {
      input_tokens: { ...count, description: 'Billed at the input rate.' },
      input_tokens_details: counts('cached_tokens', 'cache_write_tokens'),
      output_tokens: { ...count, description: 'Billed at the output rate, reasoning included.' },
      output_tokens_details: counts('reasoning_tokens'),
      total_tokens: count,
    },
  },
  error: {
    type: ['object', 'null'],
    description: 'Set when status is failed.',
    properties: { code: text, message: text },
    required: ['code', 'message'],
  },
  incomplete_details: {
    type: ['object', 'null'],
    description: 'Set when status is incomplete.',
    properties: { reason: { ...text, enum: ['max_output_tokens', 'content_filter'] } },
    required: ['reason'],
  },
  instructions: { type: ['string', 'array', 'null'], items: { type: 'object' } },
  max_output_tokens: { type: ['integer', 'null'], description: 'The limit that held.' },
  metadata: { type: ['object', 'null'], description: 'As it was sent.' },
  parallel_tool_calls: { type: 'boolean' },
  temperature: { type: ['number', 'null'] },
  top_p: { type: ['number', 'null'] },
  text: { type: 'object', properties: { format: { type: 'object' }, verbosity: orNull(text) } },
  tool_choice: { type: ['string', 'object'] },
  tools: { type: 'array', items: { type: 'object' } },
  store: { type: 'boolean', const: false },
  background: { type: 'boolean', const: false },
  conversation: { type: 'null' },
  previous_response_id: { type: 'null' },
  max_tool_calls: { type: 'null' },
  prompt_cache_key: { type: 'null' },
  safety_identifier: { type: 'null' },
  user: { type: 'null' },
  access_programs: { type: 'null' },
  reasoning: { type: 'object' },
  service_tier: text,
  top_logprobs: { type: 'integer', const: 0 },
  truncation: { ...text, const: 'disabled' },
});
