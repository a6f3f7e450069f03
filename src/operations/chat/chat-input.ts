import { z } from 'zod';
import type { Json, JsonObject } from '../../kit/json.ts';
import { addIssues, list } from '../validate.ts';
import { forRest, unlisted } from '../schema-marks.ts';

/** The contract's chat request (docs/contract.md, "Chat"). Unknown members are ignored, as they are not in the schema. */
const jsonObject = z.record(z.string(), z.json());
const optionalInteger = z.int().nullish();
/** A seed may have 64 bits. One that JSON's numbers cannot say exactly is left out, as none is promised to be heeded. */
const seed = z.preprocess(
  (value) => (Number.isInteger(value) && !Number.isSafeInteger(value) ? null : value),
  optionalInteger,
);
const optionalNumber = z.number().nullish();
const optionalString = z.string().nullish();
const optionalBoolean = z.boolean().nullish();
const optionalObject = jsonObject.nullish();
/** A member that the contract has no null for counts as absent where it is null. */
const absentIfNull = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => value ?? undefined, schema.optional());

const cached = { prompt_cache_breakpoint: optionalObject };

const contentPart = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string(), ...cached }),
  z.object({ type: z.literal('refusal'), refusal: z.string(), ...cached }),
  z.object({
    type: z.literal('image_url'),
    image_url: z.object({
      url: z
        .string()
        .regex(
          /^(?:data:image\/(?:png|jpeg|webp|gif|avif);base64,|https?:\/\/)/i,
          'must be an https:// URL, or a base64 data URI of a PNG, JPEG, WebP, GIF or AVIF',
        ),
      detail: absentIfNull(z.string()),
    }),
    ...cached,
  }),
  z.object({
    type: z.literal('input_audio'),
    input_audio: z.object({ data: z.string(), format: z.string() }),
    ...cached,
  }),
]);

const message = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: z.union([z.string(), list(contentPart)]).nullish(),
  name: optionalString,
  tool_calls: list(jsonObject).nullish(),
  tool_call_id: optionalString,
  function_call: jsonObject.nullish(),
  refusal: optionalString,
  audio: optionalObject.describe('Of an earlier answer, by its id.'),
  annotations: list(jsonObject).nullish(),
});

const tool = z.object({
  type: z.literal('function', 'only function tools are supported'),
  function: z
    .object({ name: z.string().min(1).max(128) })
    .catchall(z.json())
    .describe('name, description, parameters (JSON Schema), strict'),
});

const namedFunction = z
  .object({ type: z.literal('function'), function: z.object({ name: z.string().min(1).max(128) }) })
  .catchall(z.json());

/** Returns why the functions of a request cannot meet its tool choice. Null when they can. */
export const unmetToolChoice = (
  choice: 'required' | { name: unknown },
  functions: ReadonlySet<unknown>,
): string | null => {
  if (choice === 'required') return functions.size === 0 ? 'required needs a function in tools' : null;
  return functions.has(choice.name) ? null : 'must name a function in tools';
};

/** A `response_format` of type `json_schema`. */
const schemaFormat = z.object({ json_schema: z.object({ schema: jsonObject }) });

const multiplies = 'Multiplies output, which is not served: leave it out, or 1.';
const stays = 'Taken, and never handed to a model.';
const sampling = { description: 'Sampling; best-effort.' };
const bestEffort = { description: 'Best-effort: handed to the model, which may not heed it.' };

const onlyOne = z
  .int()
  .max(1, 'above 1 is not supported; leave it out or send 1')
  .nullish()
  .describe(multiplies);

/** The highest output limit of a request. The SKU's `maxOutputTokens` lowers it. */
export const maxOutputLimit = 65_536;
const outputLimit = z.int().min(1).max(maxOutputLimit).nullish();

/** Best-effort members that go to the upstream unchanged. All others stay here. */
const forwarded = {
  tools: forRest(list(tool).nullish(), { description: 'Function tools only.' }),
  tool_choice: forRest(
    z
      .union(
        [z.enum(['auto', 'required', 'none']), namedFunction],
        'must be "auto", "required", "none" or {"type": "function", "function": {"name": ...}}',
      )
      .nullish(),
    { description: '`auto`, `required`, `none`, or a named function.' },
  ),
  temperature: forRest(optionalNumber, sampling),
  top_p: forRest(optionalNumber, sampling),
  presence_penalty: forRest(optionalNumber, sampling),
  frequency_penalty: forRest(optionalNumber, sampling),
  stop: forRest(z.union([z.string(), z.array(z.string())]).nullish(), bestEffort),
  logit_bias: forRest(z.record(z.string(), z.int()).nullish(), bestEffort),
  seed: forRest(seed, bestEffort),
  top_logprobs: forRest(optionalInteger, bestEffort),
  logprobs: forRest(optionalBoolean, bestEffort),
  parallel_tool_calls: forRest(optionalBoolean, bestEffort),
  response_format: forRest(optionalObject, {
    description: '`text`, `json_object` or `json_schema`; best-effort.',
  }),
  ...unlisted({
    stream_options: optionalObject.describe('Every stream ends with the usage, whatever it says.'),
  }),
  moderation: forRest(optionalObject, bestEffort),
  prediction: forRest(optionalObject, bestEffort),
  audio: forRest(optionalObject, bestEffort),
  web_search_options: forRest(optionalObject, bestEffort),
  prompt_cache_options: forRest(optionalObject, bestEffort),
  reasoning_effort: forRest(optionalString, bestEffort),
  service_tier: forRest(optionalString, bestEffort),
  verbosity: forRest(optionalString, bestEffort),
  prompt_cache_retention: forRest(optionalString, bestEffort),
  ...unlisted({
    function_call: z.union([z.string(), jsonObject]).nullish().describe('Legacy form of tool_choice.'),
    functions: list(jsonObject).nullish().describe('Legacy form of tools.'),
  }),
  modalities: forRest(z.array(z.string()).nullish(), bestEffort),
};
const forwardedNames = Object.keys(forwarded) as (keyof typeof forwarded)[];

export const chatInput = z
  .object({
    model: absentIfNull(z.string().min(1).max(128)).describe(
      'A chat SKU from list_models. Default textmodel-3.5-flash, or the first there is.',
    ),
    messages: list(message).min(1).describe('The conversation so far, in OpenAI chat form.'),
    ...unlisted({ stream: z.boolean().nullish().describe('true answers server-sent events.') }),
    conversation_id: forRest(optionalString, {
      description: 'Echoed in the body and, up to 4,096 bytes, in X-Conversation-Id.',
    }),
    max_tokens: forRest(outputLimit, {
      description: 'The output limit, which the price is held up to; or max_completion_tokens, not both.',
    }),
    max_completion_tokens: outputLimit.describe(
      'Output limit, up to 65536; lowered to that of the SKU. The price is held up to it.',
    ),
    ...unlisted({
      n: z.literal(1, 'only 1 is supported; leave it out or send 1').nullish().describe(multiplies),
      best_of: onlyOne,
      candidate_count: onlyOne,
      num_return_sequences: onlyOne,
    }),
    ...forwarded,
    ...unlisted({
      store: optionalBoolean.describe(stays),
      metadata: optionalObject.describe(stays),
      extra_body: forRest(optionalObject, bestEffort),
      user: optionalString.describe(stays),
      safety_identifier: optionalString.describe(stays),
      prompt_cache_key: optionalString.describe(stays),
      webhook_url: z
        .never('is not accepted here; leave it out')
        .optional()
        .describe('Not accepted: chat sends no callbacks.'),
      custom_data: z.never('is not accepted here; leave it out').optional().describe('Not accepted.'),
    }),
  })
  .superRefine((request, context) => {
    if (typeof request.max_tokens === 'number' && typeof request.max_completion_tokens === 'number')
      context.addIssue({
        code: 'custom',
        path: ['max_tokens'],
        message: 'use only one of max_tokens and max_completion_tokens',
      });
    const { tool_choice: choice, response_format: format } = request;
    const named = choice === 'required' ? choice : typeof choice === 'object' ? choice?.function : undefined;
    const functions = new Set((request.tools ?? []).map((offered) => offered.function.name));
    const unmet = named === undefined ? null : unmetToolChoice(named, functions);
    if (unmet !== null) context.addIssue({ code: 'custom', path: ['tool_choice'], message: unmet });
    if (format?.['type'] === 'json_schema')
      addIssues(context, { schema: schemaFormat, value: format, path: ['response_format'] });
  });

export type ChatInput = z.infer<typeof chatInput>;

/** An upstream charges more for others, such as `priority`, than the price of the SKU is for. */
const usualTiers = new Set<unknown>(['auto', 'default', 'flex']);

/** Returns the members for the upstream, without absent and null ones. */
export const forwardedOptions = (request: ChatInput): JsonObject => {
  // Members that the request itself defines have rules that an upstream would skip.
  const extra = Object.entries(request.extra_body ?? {}).filter(([name]) => !(name in chatInput.shape));
  const members: Parameters<typeof withoutNull>[0] = {};
  for (const name of forwardedNames) members[name] = request[name];
  if (!usualTiers.has(request.service_tier)) delete members['service_tier'];
  if (extra.length > 0) members['extra_body'] = Object.fromEntries(extra);
  return withoutNull(members);
};

/** Returns the members without those that are absent or null. */
export const withoutNull = (members: { [name: string]: Json | undefined }): JsonObject => {
  const kept: JsonObject = {};
  for (const [name, value] of Object.entries(members))
    if (value !== undefined && value !== null) kept[name] = value;
  return kept;
};
