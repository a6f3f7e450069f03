import { z } from 'zod';

const place = z.int().min(0).optional();

/** One event of a streamed response. */
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
