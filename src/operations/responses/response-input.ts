import { z } from 'zod';
import { addIssues, list } from '../validate.ts';
import { forRest, unlisted } from '../schema-marks.ts';
import { AppError, wrongField } from '../../kit/errors.ts';
import { maxOutputLimit, unmetToolChoice } from '../chat/chat-input.ts';

const textPart = z.object({ text: z.string() });

/** The supported parts by type. `checkResponseRequest` refuses other types. */
const partSchemas = new Map<string, z.ZodType>([
  ['input_text', textPart],
  ['output_text', textPart],
  ['refusal', z.object({ refusal: z.string() })],
]);

const content = z
  .union(
    [z.string(), list(z.looseObject({ type: z.string() }))],
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
const responseItem = z.looseObject({ type: z.string().nullish() });

export type ResponseItem = z.infer<typeof responseItem>;

/** Returns the type of an item. Messages and references may leave it out. */
export const responseItemType = (item: ResponseItem): string =>
  item.type ?? ('id' in item && !('role' in item) ? 'item_reference' : 'message');

export const isResponseItemType = (type: string): type is ResponseItemType =>
  Object.hasOwn(responseItemSchemas, type);

/**
 * The JSON types of the contract's Responses request (docs/contract.md, "Responses"). `checkResponseRequest` checks afterwards
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
  .union([z.string(), list(responseItem)], {
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

const resend = 'Send the whole conversation in input.';

/** Members of OpenAI's API that are not supported here, with what to do instead. */
const rejected = {
  previous_response_id: resend,
  conversation: resend,
  background: 'Leave it out; a response that takes long is read with GET /v1/responses/{id}.',
  prompt: 'Write the prompt into instructions and input.',
  top_logprobs: 'Leave it out.',
  max_tool_calls: 'Leave it out; there are no tools that run on this side.',
};

const sampling = { description: 'Sampling; best-effort.' };
const ignored = z.unknown().optional().describe('Accepted and ignored.');
const refused = z.unknown().optional().describe('Not supported.');

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
  tools: list(tool)
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
    previous_response_id: refused,
    conversation: refused,
    background: refused,
    prompt: refused,
    top_logprobs: refused,
    max_tool_calls: refused,
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

const roles = ['user', 'assistant', 'system', 'developer'];
const textParts = ['input_text', 'output_text'];
const toolChoices = ['auto', 'none', 'required'];
const verbosities = ['low', 'medium', 'high'];

/** The upper ends of OpenAI's ranges, which begin at 0. Upstreams have the same. */
const maxSampling = { temperature: 2, top_p: 1 };

const maxMetadata = { entries: 16, keyLength: 64, valueLength: 512 };

/** Refuses well-formed requests with unsupported values. Throws AppError: unknown_parameter, invalid_value, input_too_large. */
export const checkResponseRequest = (
  request: ResponseInput,
  { responsesMaxBytes }: { responsesMaxBytes: number },
): void => {
  for (const [name, advice] of Object.entries(rejected))
    if (isPresent(request[name])) throw unknownParameter(name, `is not supported. ${advice}`);
  if (request.store === true)
    throw unknownParameter('store', 'must be false: nothing is kept. Leave it out or send false.');
  checkOptions(request);
  checkTools(request);
  checkItems(request.input);
  if (Buffer.byteLength(JSON.stringify(request)) > responsesMaxBytes) throw tooLarge(responsesMaxBytes);
};

const isPresent = (value: unknown): boolean => value !== undefined && value !== null;

const unknownParameter = (param: string, text: string): AppError =>
  wrongField('unknown_parameter', param, `${param}: ${text}`);

export const invalidValue = (param: string, text: string): AppError =>
  wrongField('invalid_value', param, `${param}: ${text}`);

export const tooLarge = (maxBytes: number): AppError =>
  wrongField('input_too_large', 'input', `The request is larger than ${maxBytes} bytes of JSON. Send less.`);

const need = (isMet: boolean, param: string, text: string): void => {
  if (!isMet) throw invalidValue(param, text);
};

const isWithin = (value: unknown, least: number, most: number): boolean =>
  typeof value !== 'number' || (value >= least && value <= most);

const checkOptions = (request: ResponseInput): void => {
  const { max_output_tokens: limit, metadata, text } = request;
  need(isWithin(limit, 1, maxOutputLimit), 'max_output_tokens', `must be 1 to ${maxOutputLimit}.`);
  for (const [name, most] of Object.entries(maxSampling))
    need(isWithin(request[name], 0, most), name, `must be 0 to ${most}.`);
  const entries = Object.entries(metadata ?? {});
  const { entries: most, keyLength, valueLength } = maxMetadata;
  need(entries.length <= most, 'metadata', `must have at most ${most} entries.`);
  need(
    entries.every(([key, value]) => key.length <= keyLength && value.length <= valueLength),
    'metadata',
    `keys must have at most ${keyLength} characters and values at most ${valueLength}.`,
  );
  need(
    ['text', 'json_object', 'json_schema'].includes(text?.format?.type ?? 'text'),
    'text.format.type',
    'must be text, json_object or json_schema.',
  );
  const isVerbosity = verbosities.includes(text?.verbosity ?? 'medium');
  need(isVerbosity, 'text.verbosity', `must be ${verbosities.join(', ')}.`);
};

const checkTools = ({ tools, tool_choice: choice }: ResponseInput): void => {
  for (const [index, { type }] of (tools ?? []).entries())
    need(type === 'function', `tools.${index}.type`, 'only function tools are supported.');
  if (choice === undefined || choice === null) return;
  const names = new Set((tools ?? []).map(({ name }) => name));
  const needFunction = (wanted: 'required' | { name: unknown }, param: string): void => {
    const unmet = unmetToolChoice(wanted, names);
    need(unmet === null, param, `${unmet}.`);
  };
  if (typeof choice === 'string') {
    const isKnown = toolChoices.includes(choice);
    need(isKnown, 'tool_choice', 'must be auto, none, required or {type: "function", name}.');
    if (choice === 'required') needFunction(choice, 'tool_choice');
    return;
  }
  need(choice['type'] === 'function', 'tool_choice.type', 'must be function.');
  needFunction({ name: choice['name'] }, 'tool_choice.name');
};

const checkItems = (input: ResponseInput['input']): void => {
  if (typeof input === 'string') return;
  for (const [index, item] of input.entries()) checkItem(item, `input.${index}`);
};

const checkItem = (item: ResponseItem, param: string): void => {
  const type = responseItemType(item);
  if (!isResponseItemType(type))
    throw invalidValue(
      `${param}.type`,
      `must be ${Object.keys(responseItemSchemas).join(', ')}. Only text and function calls are supported.`,
    );
  if (type === 'message') {
    const { role, content } = responseItemSchemas.message.parse(item);
    need(roles.includes(role), `${param}.role`, `must be ${roles.join(', ')}.`);
    const allowed = role === 'assistant' ? [...textParts, 'refusal'] : textParts;
    checkContent(content, `${param}.content`, allowed);
  }
  if (type === 'function_call_output')
    checkContent(responseItemSchemas.function_call_output.parse(item).output, `${param}.output`, textParts);
};

const checkContent = (content: ResponseContent, param: string, allowed: readonly string[]): void => {
  if (typeof content === 'string') return;
  const text = `must be ${allowed.join(' or ')}: images, files and audio are not supported here.`;
  for (const [index, { type }] of content.entries())
    need(allowed.includes(type), `${param}.${index}.type`, text);
};
