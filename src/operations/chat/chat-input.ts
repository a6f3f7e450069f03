import { z } from 'zod';
import type { JsonObject } from '../../kit/json.ts';
import { addIssues } from '../add-issues.ts';

/** The contract's chat request (docs/contract.md, "Chat"). Unknown members are ignored, as they are not in the schema. */
const jsonObject = z.record(z.string(), z.json());
const optionalInteger = z.int().nullish();
const optionalNumber = z.number().nullish();
const optionalString = z.string().nullish();
const optionalBoolean = z.boolean().nullish();
const optionalObject = jsonObject.nullish();

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
      detail: z.string().optional(),
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
  content: z.union([z.string(), z.array(contentPart)]).nullish(),
  name: optionalString,
  tool_calls: z.array(jsonObject).nullish(),
  tool_call_id: optionalString,
  function_call: jsonObject.nullish(),
  refusal: optionalString,
  audio: optionalObject.describe('Of an earlier answer, by its id.'),
  annotations: z.array(jsonObject).nullish(),
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

/** Why the functions of a request cannot meet its tool choice; null when they can. */
export const unmetToolChoice = (
  choice: 'required' | { name: unknown },
  functions: ReadonlySet<unknown>,
): string | null => {
  if (choice === 'required') return functions.size === 0 ? 'required needs a function in tools' : null;
  return functions.has(choice.name) ? null : 'must name a function in tools';
};

/** Of a `response_format` of type `json_schema`. */
const schemaFormat = z.object({ json_schema: z.object({ schema: jsonObject }) });

const onlyOne = z.int().max(1, 'above 1 is not supported; leave it out or send 1').nullish();

/** A caller may name as many; the SKU's `maxOutputTokens` lowers it. */
export const mostOutputTokens = 65_536;
const outputLimit = z.int().min(1).max(mostOutputTokens).nullish();

export const chatInput = z
  .object({
    model: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .describe('A chat SKU from list_models. Default textmodel-3.5-flash, or the first there is.'),
    messages: z.array(message).min(1).describe('The conversation so far, in OpenAI chat form.'),
    stream: z.boolean().nullish(),
    conversation_id: optionalString,
    max_tokens: outputLimit,
    max_completion_tokens: outputLimit.describe(
      'Output limit, up to 65536; lowered to that of the SKU. The price is held up to it.',
    ),
    n: z.literal(1, 'only 1 is supported; leave it out or send 1').nullish(),
    best_of: onlyOne,
    candidate_count: onlyOne,
    num_return_sequences: onlyOne,
    tools: z.array(tool).nullish(),
    tool_choice: z
      .union(
        [z.enum(['auto', 'required', 'none']), namedFunction],
        'must be "auto", "required", "none" or {"type": "function", "function": {"name": ...}}',
      )
      .nullish(),
    temperature: optionalNumber,
    top_p: optionalNumber,
    presence_penalty: optionalNumber,
    frequency_penalty: optionalNumber,
    stop: z.union([z.string(), z.array(z.string())]).nullish(),
    logit_bias: z.record(z.string(), z.int()).nullish(),
    seed: optionalInteger,
    top_logprobs: optionalInteger,
    logprobs: optionalBoolean,
    parallel_tool_calls: optionalBoolean,
    store: optionalBoolean,
    response_format: optionalObject,
    stream_options: optionalObject,
    metadata: optionalObject,
    moderation: optionalObject,
    prediction: optionalObject,
    audio: optionalObject,
    web_search_options: optionalObject,
    prompt_cache_options: optionalObject,
    extra_body: optionalObject,
    reasoning_effort: optionalString,
    service_tier: optionalString,
    verbosity: optionalString,
    prompt_cache_retention: optionalString,
    user: optionalString,
    safety_identifier: optionalString,
    prompt_cache_key: optionalString,
    function_call: z.union([z.string(), jsonObject]).nullish(),
    functions: z.array(jsonObject).nullish(),
    modalities: z.array(z.string()).nullish(),
    webhook_url: z.never('is not accepted here; leave it out').optional(),
    custom_data: z.never('is not accepted here; leave it out').optional(),
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

/** Best-effort members that go to the upstream as they are; everything else stays here. */
const forwarded = [
  'tools',
  'tool_choice',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'stop',
  'logit_bias',
  'seed',
  'top_logprobs',
  'logprobs',
  'parallel_tool_calls',
  'response_format',
  'stream_options',
  'moderation',
  'prediction',
  'audio',
  'web_search_options',
  'prompt_cache_options',
  'reasoning_effort',
  'service_tier',
  'verbosity',
  'prompt_cache_retention',
  'function_call',
  'functions',
  'modalities',
] as const satisfies readonly (keyof ChatInput)[];

/** The members for the upstream, without absent and null ones. */
export const forwardedOptions = (request: ChatInput): JsonObject => {
  const options = Object.fromEntries(
    forwarded.flatMap((name) => {
      const value = request[name];
      return value === undefined || value === null ? [] : [[name, value]];
    }),
  );
  const extra = extraBody(request);
  return Object.keys(extra).length === 0 ? options : { ...options, extra_body: extra };
};

/** A name that the request has itself belongs there, under its own rule; some upstreams would take it from here too. */
const extraBody = ({ extra_body: extra }: ChatInput): JsonObject =>
  Object.fromEntries(Object.entries(extra ?? {}).filter(([name]) => !(name in chatInput.shape)));
