import { z } from 'zod';
import { addIssues } from '../add-issues.ts';
import { forRest, unlisted } from '../schema-marks.ts';

const textPart = z.object({ text: z.string() });

/** The supported parts by type. response-rules.ts refuses other types. */
const partSchemas = new Map<string, z.ZodType>([
  ['input_text', textPart],
  ['output_text', textPart],
  ['refusal', z.object({ refusal: z.string() })],
]);

const content = z
  .union(
    [z.string(), z.array(z.looseObject({ type: z.string() }))],
    'must be a string or an array of parts with a type',
  )
  .superRefine((value, context) => {
    if (typeof value === 'string') return;
    for (const [index, part] of value.entries())
      addIssues(context, { schema: partSchemas.get(part.type), value: part, path: [index] });
  });

export type ResponseContent = z.infer<typeof content>;

/** The supported items by type. Other members are ignored. */
export const responseItemSchemas = {
  message: z.object({ role: z.string(), content }),
  function_call: z.object({
    call_id: z.string().min(1),
    name: z.string().min(1),
    arguments: z.string(),
    /** An upstream's own data, returned as it came with the call. Other values are ignored. */
    extra_content: z.record(z.string(), z.json()).optional().catch(undefined),
  }),
  function_call_output: z.object({ call_id: z.string().min(1), output: content }),
  /** Replayed from earlier output; ignored. */
  reasoning: z.object({}),
  item_reference: z.object({ id: z.string() }),
};

type ResponseItemType = keyof typeof responseItemSchemas;

/** An item. It is loose because its form depends on its type. */
export const responseItem = z.looseObject({ type: z.string().nullish() });

export type ResponseItem = z.infer<typeof responseItem>;

/** Returns the type of an item. Messages and references may leave it out. */
export const responseItemType = (item: ResponseItem): string =>
  item.type ?? ('id' in item && !('role' in item) ? 'item_reference' : 'message');

export const isResponseItemType = (type: string): type is ResponseItemType =>
  Object.hasOwn(responseItemSchemas, type);

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
