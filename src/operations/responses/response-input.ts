import { z } from 'zod';
import { addIssues } from '../add-issues.ts';
import { forRest, unlisted } from '../schema-marks.ts';
import { isResponseItemType, responseItem, responseItemSchemas, responseItemType } from './response-items.ts';

/**
 * The JSON types of the contract's Responses request (docs/contract.md, "Responses"). response-rules.ts checks afterwards
 * which values are supported, as those refusals are 400, not 422. Other members pass, so that the rules see them.
 */

export const functionTool = z.object({
  name: z.string().min(1).max(128),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.json()).nullish(),
  strict: z.boolean().nullish(),
});

/** A `text.format` of type `json_schema`. */
export const schemaFormat = z.object({
  name: z.string().min(1).max(128),
  description: z.string().nullish(),
  schema: z.record(z.string(), z.json()),
  strict: z.boolean().nullish(),
});

const tool = z.looseObject({ type: z.string() }).superRefine((value, context) => {
  if (value.type === 'function') addIssues(context, { schema: functionTool, value });
});

const format = z.looseObject({ type: z.string() }).superRefine((value, context) => {
  if (value.type === 'json_schema') addIssues(context, { schema: schemaFormat, value });
});

const input = z
  .union([z.string(), z.array(responseItem)], {
    error: ({ input: value }) =>
      value === undefined ? 'is required' : 'must be a string or an array of items',
  })
  .superRefine((value, context) => {
    if (typeof value === 'string') return;
    if (value.length === 0) context.addIssue({ code: 'custom', message: 'must have at least one item' });
    for (const [index, item] of value.entries()) {
      const type = responseItemType(item);
      if (isResponseItemType(type))
        addIssues(context, { schema: responseItemSchemas[type], value: item, path: [index] });
    }
  });

const sampling = { description: 'Sampling; best-effort.' };
const ignored = z.unknown().optional().describe('Accepted and ignored.');

export const responseInput = z.looseObject({
  model: z.string().nullish().describe('A chat SKU from list_models.'),
  input: input.describe(
    'The prompt, or all items so far: messages {role, content}, function_call, function_call_output, ' +
      'item_reference {type, id} of earlier output.',
  ),
  instructions: forRest(z.string().nullish(), { description: 'Said to the model before the input.' }),
  max_output_tokens: z
    .int()
    .meta({ minimum: 1, maximum: 65_536 })
    .nullish()
    .describe('1 to 65536; lowered to that of the SKU. The price is held up to it.'),
  tools: z
    .array(tool)
    .nullish()
    .describe('{type: "function", name, description, parameters (JSON Schema), strict}'),
  tool_choice: z
    .union([z.string(), z.looseObject({})], 'must be a string or an object')
    .nullish()
    .describe('auto, none, required or {type: "function", name}'),
  parallel_tool_calls: forRest(z.boolean().nullish(), { description: 'Default true.' }),
  text: z
    .looseObject({ format: format.nullish(), verbosity: z.string().nullish() })
    .nullish()
    .describe('format: {type: text | json_object} or {type: "json_schema", name, schema, strict}'),
  temperature: forRest(z.number().nullish(), sampling),
  top_p: forRest(z.number().nullish(), sampling),
  metadata: z.record(z.string(), z.string()).nullish().describe('Echoed; at most 16 entries.'),
  ...unlisted({
    stream: z.boolean().nullish().describe('true answers named server-sent events.'),
    store: z.boolean().nullish().describe('Only false is accepted.'),
    stream_options: ignored,
    user: ignored,
    safety_identifier: ignored,
    prompt_cache_key: ignored,
    service_tier: ignored,
    include: ignored,
    reasoning: ignored,
    truncation: ignored,
  }),
});

export type ResponseInput = z.infer<typeof responseInput>;

const unbound = ['stream', 'stream_options'];

/** Returns the part that an idempotency key is bound to: the known members without those of streaming. */
export const boundPart = (request: ResponseInput): object =>
  Object.fromEntries(
    Object.keys(responseInput.shape)
      .filter((name) => !unbound.includes(name))
      .map((name) => [name, request[name]])
      .filter(([, value]) => value !== null),
  );
