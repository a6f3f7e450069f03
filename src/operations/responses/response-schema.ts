import { z } from 'zod';
import { count } from '../answer-fields.ts';
import { unlisted } from '../schema-marks.ts';

const place = z.int().min(0).optional();

export const responseEventSchema = z
  .looseObject({
    type: z.enum([
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
    ]),
    sequence_number: z.int().min(0).describe('From 0, one up an event.'),
    output_index: place,
    content_index: place,
    item_id: z.string().optional(),
    delta: z.string().optional(),
    logprobs: z.array(z.unknown()).optional(),
    response: z.looseObject({}).optional().describe('In the first two events and the last one.'),
  })
  .describe('One event of a streamed response; `type` is also its `event:` line.');

const objects = z.array(z.looseObject({}));
const someCount = z.int().min(0).nullish();

const part = z.looseObject({
  type: z.enum(['output_text', 'refusal', 'reasoning_text']),
  text: z.string().optional(),
  refusal: z.string().optional(),
  annotations: objects.optional(),
  logprobs: objects.optional(),
});

const outputItem = z
  .looseObject(
    unlisted({
      id: z.string(),
      type: z.enum(['message', 'function_call', 'reasoning']),
      status: z.enum(['in_progress', 'completed', 'incomplete']).optional(),
      role: z.literal('assistant').optional().describe('Of a message.'),
      content: z.array(part).optional().describe('Of a message or of reasoning.'),
      summary: objects.optional().describe('Of reasoning.'),
      call_id: z.string().optional().describe('Of a function call: its output names it.'),
      name: z.string().optional().describe('Of a function call.'),
      arguments: z.string().optional().describe('Of a function call: JSON.'),
    }),
  )
  .describe('A message, a function call or reasoning.');

export const responseSchema = z.looseObject({
  id: z.string().describe('`resp_` and the job id.'),
  ...unlisted({
    object: z.literal('response'),
    created_at: z.int().describe('Unix seconds.'),
    completed_at: z.int().nullable().describe('Unix seconds.'),
  }),
  status: z.enum(['in_progress', 'completed', 'incomplete', 'failed']),
  ...unlisted({ model: z.string().describe('The SKU that was asked for.') }),
  output: z.array(outputItem),
  output_text: z.string().describe('All text of the output.'),
  ...unlisted({
    usage: z
      .looseObject({
        input_tokens: count.describe('Billed at the input rate.'),
        input_tokens_details: z
          .looseObject({ cached_tokens: someCount, cache_write_tokens: someCount })
          .nullish(),
        output_tokens: count.describe('Billed at the output rate, reasoning included.'),
        output_tokens_details: z.looseObject({ reasoning_tokens: someCount }).nullish(),
        total_tokens: count,
      })
      .nullable()
      .describe('Null until the response has ended.'),
    error: z
      .looseObject({ code: z.string(), message: z.string() })
      .nullable()
      .describe('Set when status is failed.'),
    incomplete_details: z
      .looseObject({ reason: z.enum(['max_output_tokens', 'content_filter']) })
      .nullable()
      .describe('Set when status is incomplete.'),
    instructions: z.union([z.string(), objects, z.null()]),
    max_output_tokens: z.int().nullable().describe('The limit that held.'),
    metadata: z.looseObject({}).nullable().describe('As it was sent.'),
    parallel_tool_calls: z.boolean(),
    temperature: z.number().nullable(),
    top_p: z.number().nullable(),
    text: z.looseObject({ format: z.looseObject({}).optional(), verbosity: z.string().nullish() }),
    tool_choice: z.union([z.string(), z.looseObject({})]),
    tools: objects,
    store: z.literal(false),
    background: z.literal(false),
    conversation: z.null(),
    previous_response_id: z.null(),
    max_tool_calls: z.null(),
    prompt_cache_key: z.null(),
    safety_identifier: z.null(),
    user: z.null(),
    access_programs: z.null(),
    reasoning: z.looseObject({}),
    service_tier: z.string(),
    top_logprobs: z.literal(0),
    truncation: z.literal('disabled'),
  }),
});
