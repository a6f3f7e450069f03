import { z } from 'zod';
import { count, sandboxMark } from '../answer-fields.ts';
import { forRest, unlisted } from '../schema-marks.ts';

const objects = z.array(z.looseObject({})).nullish();
const someCount = z.int().min(0).nullish();

const toolCall = z.looseObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.looseObject({ name: z.string(), arguments: z.string().describe('JSON.') }),
});

const message = z.looseObject({
  role: z.literal('assistant'),
  content: z.string().nullable(),
  ...unlisted({
    reasoning_content: z.string().nullish().describe('Where the SKU returns it.'),
    refusal: z.string().nullish(),
    tool_calls: z
      .array(toolCall)
      .nullish()
      .describe('Send them back exactly as they are, with their outputs after them.'),
    function_call: z.looseObject({}).nullish().describe('Legacy.'),
    annotations: objects,
    audio: z.looseObject({}).nullish(),
  }),
});

const choice = z.looseObject({
  index: count,
  message,
  finish_reason: z
    .string()
    .nullable()
    .describe('`stop`, `length`, `tool_calls`, `content_filter` or `function_call`.'),
  ...unlisted({ logprobs: z.looseObject({}).nullish() }),
});

const usage = z.looseObject({
  prompt_tokens: count.describe('Billed at the input rate.'),
  completion_tokens: count.describe('Billed at the output rate, reasoning included.'),
  total_tokens: count.describe('The sum of the two.'),
  ...unlisted({
    prompt_tokens_details: z.looseObject({ cached_tokens: someCount, audio_tokens: someCount }).nullish(),
    completion_tokens_details: z
      .looseObject({
        reasoning_tokens: someCount,
        audio_tokens: someCount,
        accepted_prediction_tokens: someCount,
        rejected_prediction_tokens: someCount,
      })
      .nullish(),
  }),
});

/** A chat completion as answered (OpenAI's `ChatCompletion`). */
export const chatCompletionSchema = z.looseObject({
  id: z.string().describe('`chatcmpl-` and the job id.'),
  object: z.literal('chat.completion'),
  created: z.int().describe('Unix seconds.'),
  model: z.string().describe('The SKU that was asked for.'),
  choices: forRest(z.array(choice), { minItems: 1, maxItems: 1 }),
  usage,
  conversation_id: z.string().nullable().describe('As it was sent.'),
  ...sandboxMark,
});

/** One `data:` line of a streamed chat completion. */
export const chatChunkSchema = z
  .looseObject({
    id: z.string(),
    object: z.literal('chat.completion.chunk'),
    created: z.int().describe('Unix seconds.'),
    model: z.string(),
    choices: z.array(
      z.looseObject({
        index: z.int().min(0),
        delta: z.looseObject({
          role: z.literal('assistant').optional(),
          content: z.string().optional(),
          reasoning_content: z.string().optional(),
          refusal: z.string().optional(),
          tool_calls: z.array(z.looseObject({})).optional(),
          function_call: z.looseObject({}).optional(),
          annotations: z.array(z.looseObject({})).optional(),
          audio: z.looseObject({}).optional(),
        }),
        logprobs: z.looseObject({}).optional().describe('Of the tokens of this piece.'),
        finish_reason: z.string().nullable(),
      }),
    ),
    usage: z.looseObject({}).optional().describe('In the last event only.'),
  })
  .describe('One event of a streamed chat completion. The last one has empty choices and the usage.');
