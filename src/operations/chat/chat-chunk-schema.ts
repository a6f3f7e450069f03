import { z } from 'zod';

const object = z.looseObject({}).optional();
const objects = z.array(z.looseObject({})).optional();
const text = z.string().optional();

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
          content: text,
          reasoning_content: text,
          refusal: text,
          tool_calls: objects,
          function_call: object,
          annotations: objects,
          audio: object,
        }),
        logprobs: object.describe('Of the tokens of this piece.'),
        finish_reason: z.string().nullable(),
      }),
    ),
    usage: object.describe('In the last event only.'),
  })
  .describe('One event of a streamed chat completion. The last one has empty choices and the usage.');
