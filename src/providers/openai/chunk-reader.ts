import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { jsonExcess, type JsonObject } from '../../kit/json.ts';
import type { FinishReason, TextEvent, TextExtras, TextUsage } from '../text/text-provider.ts';

/** A member that counts as absent when it is missing, null or of another type. */
const tolerant = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);

const text = tolerant(z.string());
const bytes = z.array(z.int()).nullable().catch(null);
const tokens = z
  .array(
    z.object({
      token: z.string(),
      logprob: z.number(),
      bytes,
      top_logprobs: z.array(z.object({ token: z.string(), logprob: z.number(), bytes })).catch([]),
    }),
  )
  .catch([]);

/** An object as it was sent, unless it has too many members or levels. */
const looseObject = z.custom<JsonObject>(
  (value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && jsonExcess(value) === null,
);

const logprobsSchema = tolerant(z.object({ content: tokens, refusal: tokens }));

const callSchema = z.object({
  index: tolerant(z.int().min(0)),
  id: text,
  function: tolerant(z.object({ name: text, arguments: z.unknown() })),
  extra_content: tolerant(looseObject),
});

const deltaSchema = z.object({
  content: z.unknown().optional(),
  reasoning_content: text,
  reasoning: text,
  refusal: text,
  tool_calls: tolerant(z.array(callSchema)),
  function_call: tolerant(z.object({ name: text, arguments: z.unknown() })),
  annotations: tolerant(z.array(looseObject)),
  audio: tolerant(z.object({ id: text, data: text, transcript: text, expires_at: tolerant(z.number()) })),
});

/** Only the members that we use are read. */
const choiceSchema = z.object({
  delta: tolerant(deltaSchema),
  logprobs: logprobsSchema,
  finish_reason: text,
});

type Delta = z.infer<typeof deltaSchema>;
type CallPiece = z.infer<typeof callSchema>;

/** Reads the chunks of one answer. Its finish reason and usage are complete when the stream has ended. */
export const createChunkReader = () => {
  let finish: FinishReason | null = null;
  let usage: TextUsage | null = null;
  const calls = createCallReader();

  const eventsOf = (delta: Delta, extras: TextExtras | undefined): TextEvent[] => {
    const { content, reasoning_content: reasoning = delta.reasoning ?? thoughtsIn(content) } = delta;
    return [
      ...textEvent('reasoning', reasoning),
      ...contentEvent(wordsIn(content), extras),
      ...textEvent('refusal', delta.refusal),
      ...(delta.tool_calls ?? []).map(calls.read),
      ...(delta.function_call === undefined ? [] : [calls.readLegacy(delta.function_call)]),
    ];
  };

  const finishBy = (reason: unknown): void => {
    if (typeof reason !== 'string' || interruptions.has(reason)) return;
    // Gemini's filters add why, as in `content_filter: PROHIBITED_CONTENT`.
    finish ??= /_filter: /.test(reason) ? 'content_filter' : (finishReasons.get(reason) ?? 'stop');
  };

  const read = ({ choices, usage: reported }: Partial<Record<string, unknown>>): TextEvent[] => {
    usage = toUsage(reported) ?? usage;
    const first = firstChoice(choices);
    const plain = plainChoice(first);
    if (plain !== null) {
      finishBy(plain.reason);
      return textEvent('content', plain.words);
    }
    const choice = choiceSchema.safeParse(first).data;
    if (choice === undefined) return [];
    const { delta = {}, logprobs, finish_reason: reason } = choice;
    finishBy(reason);
    return eventsOf(delta, toExtras(delta, logprobs));
  };

  return {
    /** Returns the events of one chunk; none for a value that is no chunk. */
    read: (value: unknown): TextEvent[] => (isObject(value) ? read(value) : []),
    /** Returns the events of an answer in one piece. Its message is read like the only chunk. */
    readWhole: (value: unknown): TextEvent[] => (isObject(value) ? read(toChunk(value)) : []),
    /** Null when the answer had no finish reason, so it was cut off. Some upstreams end a tool call with `stop`. */
    finishReason: (): FinishReason | null => (finish === 'stop' && calls.hasAny() ? 'tool_calls' : finish),
    usage: (): TextUsage | null => usage,
  };
};

/** Reads the pieces of function calls: the first piece of each gets an id and the name. */
const createCallReader = () => {
  /** The call that the pieces with an index of the upstream belong to now. */
  const openCalls = new Map<number, { index: number; id: string }>();
  let lastPlace = 0;
  let count = 0;

  const read = (call: CallPiece): TextEvent => {
    const { index: place = lastPlace, id = '', function: named } = call;
    const name = named?.name ?? '';
    lastPlace = place;
    let open = openCalls.get(place);
    // Some upstreams have one index, or none, for all calls. Others send a new id, but no name, with each piece.
    const isFirst = open === undefined || (id !== '' && id !== open.id && name !== '');
    if (open === undefined || isFirst) {
      open = { index: count, id: id === '' ? `call_${randomUUID().replaceAll('-', '')}` : id };
      openCalls.set(place, open);
      count += 1;
    }
    return {
      type: 'tool_call',
      index: open.index,
      ...(isFirst ? { id: open.id, name } : {}),
      arguments: argumentsText(named?.arguments),
      ...(call.extra_content === undefined ? {} : { extraContent: call.extra_content }),
    };
  };

  const readLegacy = ({ name = '', arguments: piece }: NonNullable<Delta['function_call']>): TextEvent => {
    const isFirst = count === 0;
    count = Math.max(count, 1);
    return { type: 'tool_call', index: 0, ...(isFirst ? { name } : {}), arguments: argumentsText(piece) };
  };

  return { read, readLegacy, hasAny: (): boolean => count > 0 };
};

/** Returns the choice of index 0, or without one. Some upstreams send several unasked. */
const firstChoice = (choices: unknown): unknown =>
  Array.isArray(choices) ? choices.find((choice) => isObject(choice) && (choice['index'] ?? 0) === 0) : null;

/** Reads a choice that has nothing but words, as most have, without the schema; null for any other. */
const plainChoice = (choice: unknown): { words: string; reason: unknown } | null => {
  if (!isObject(choice) || isGiven(choice['logprobs'])) return null;
  const { delta, finish_reason: reason } = choice;
  if (!isObject(delta) || otherMembers.some((name) => isGiven(delta[name]))) return null;
  const words = delta['content'] ?? '';
  return typeof words === 'string' ? { words, reason } : null;
};

const otherMembers = Object.keys(deltaSchema.shape).filter((name) => name !== 'content');

/** Most completions have an empty list of annotations. */
const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);

const isObject = (value: unknown): value is Partial<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** Returns a text, or the texts of a list of parts, which Mistral's reasoning models send. */
const wordsIn = (content: unknown): string => {
  const parts: unknown[] = Array.isArray(content) ? content : [{ text: content }];
  const texts = parts.map((part) => (isObject(part) ? part['text'] : null));
  return texts.filter((words) => typeof words === 'string').join('');
};

/** Returns the texts of the thoughts among the parts. */
const thoughtsIn = (content: unknown): string => {
  const parts: unknown[] = Array.isArray(content) ? content : [];
  return parts.map((part) => (isObject(part) ? wordsIn(part['thinking'] ?? part['reasoning']) : '')).join('');
};

/** Makes one chunk of a whole answer. The index of a call is its place in the message. */
const toChunk = ({ choices, usage }: Partial<Record<string, unknown>>): Partial<Record<string, unknown>> => {
  const choice = firstChoice(choices);
  if (!isObject(choice) || !isObject(choice['message'])) return { usage };
  const { message, ...rest } = choice;
  const { tool_calls: calls } = message;
  const delta = Array.isArray(calls)
    ? { ...message, tool_calls: calls.map((call, index) => (isObject(call) ? { ...call, index } : call)) }
    : message;
  return { choices: [{ ...rest, delta }], usage };
};

/** Returns the parts of a chunk beside its words; undefined when there are none. */
const toExtras = (
  { annotations = [], audio = {} }: Delta,
  logprobs: z.infer<typeof logprobsSchema>,
): TextExtras | undefined => {
  const spoken = Object.fromEntries(Object.entries(audio).filter(([, value]) => value !== undefined));
  const extras: TextExtras = {
    ...(logprobs !== undefined && logprobs.content.length + logprobs.refusal.length > 0 ? { logprobs } : {}),
    ...(annotations.length > 0 ? { annotations } : {}),
    ...(Object.keys(spoken).length > 0 ? { audio: spoken } : {}),
  };
  return Object.keys(extras).length === 0 ? undefined : extras;
};

const contentEvent = (piece: string, extras: TextExtras | undefined): TextEvent[] => {
  if (extras !== undefined) return [{ type: 'content', text: piece, extras }];
  return textEvent('content', piece);
};

const textEvent = (type: 'content' | 'reasoning' | 'refusal', piece: string | undefined): TextEvent[] =>
  piece === undefined || piece === '' ? [] : [{ type, text: piece }];

/** Arguments are a piece of JSON text. A few upstreams send the object itself. */
const argumentsText = (value: unknown): string => {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
};

/** An answer that ends so is cut off: it has no finish reason. The names are those of OpenRouter, vLLM, DeepSeek and Zhipu. */
const interruptions = new Set(['', 'error', 'abort', 'insufficient_system_resource', 'network_error']);

/** Any other reason is `stop`. */
const finishReasons = new Map<string, FinishReason>([
  ['length', 'length'],
  ['max_tokens', 'length'],
  // Mistral and Zhipu: the context is full.
  ['model_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_calls', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['sensitive', 'content_filter'],
  ['function_call', 'function_call'],
]);

/**
 * Reasoning is billed as completion. Upstreams that leave it out of `completion_tokens` still have it in the total. Null for a
 * prompt without tokens, which no upstream has read.
 */
const toUsage = (usage: unknown): TextUsage | null => {
  if (!isObject(usage)) return null;
  const promptTokens = count(usage['prompt_tokens']);
  const completionTokens = count(usage['completion_tokens']);
  if (promptTokens === undefined || promptTokens === 0 || completionTokens === undefined) return null;
  const prompt = details(usage['prompt_tokens_details']);
  const completion = details(usage['completion_tokens_details']);
  return {
    promptTokens,
    completionTokens: Math.max(completionTokens, (count(usage['total_tokens']) ?? 0) - promptTokens),
    cachedTokens: count(prompt['cached_tokens']) ?? null,
    reasoningTokens: count(completion['reasoning_tokens']) ?? null,
    promptAudioTokens: count(prompt['audio_tokens']),
    completionAudioTokens: count(completion['audio_tokens']),
    acceptedPredictionTokens: count(completion['accepted_prediction_tokens']),
    rejectedPredictionTokens: count(completion['rejected_prediction_tokens']),
  };
};

const details = (value: unknown): Partial<Record<string, unknown>> => (isObject(value) ? value : {});

/** A count of another type counts as absent. */
const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
