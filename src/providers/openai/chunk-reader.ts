import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { jsonExcess } from '../../kit/bounded-json.ts';
import type { JsonObject } from '../../kit/json.ts';
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

const count = tolerant(z.int().min(0));

const callSchema = z.object({
  index: count,
  id: text,
  function: tolerant(z.object({ name: text, arguments: z.unknown() })),
  extra_content: tolerant(looseObject),
});

const deltaSchema = z.object({
  content: text,
  reasoning_content: text,
  reasoning: text,
  refusal: text,
  tool_calls: tolerant(z.array(callSchema)),
  function_call: tolerant(z.object({ name: text, arguments: z.unknown() })),
  annotations: tolerant(z.array(looseObject)),
  audio: tolerant(z.object({ id: text, data: text, transcript: text, expires_at: tolerant(z.number()) })),
});

const usageSchema = z.object({
  prompt_tokens: z.int().min(0),
  completion_tokens: z.int().min(0),
  total_tokens: count,
  prompt_tokens_details: tolerant(z.object({ cached_tokens: count, audio_tokens: count })),
  completion_tokens_details: tolerant(
    z.object({
      reasoning_tokens: count,
      audio_tokens: count,
      accepted_prediction_tokens: count,
      rejected_prediction_tokens: count,
    }),
  ),
});

/** Only the members that we use are read. */
const chunkSchema = z.object({
  choices: tolerant(
    z.array(z.object({ delta: tolerant(deltaSchema), logprobs: logprobsSchema, finish_reason: text })),
  ),
  usage: tolerant(usageSchema),
});

type Delta = z.infer<typeof deltaSchema>;
type CallPiece = z.infer<typeof callSchema>;

/** Reads the chunks of one answer. Its finish reason and usage are complete when the stream has ended. */
export const createChunkReader = () => {
  let finish: FinishReason | null = null;
  let usage: TextUsage | null = null;
  const knownCalls = new Map<number, string | null>();

  /** Upstreams that send no index start a new call with each new id. */
  const indexOf = (call: CallPiece): number => {
    if (call.index !== undefined) return call.index;
    const last = knownCalls.size - 1;
    const isNew = call.id !== undefined && call.id !== knownCalls.get(last);
    return isNew || last < 0 ? last + 1 : last;
  };

  const toCallEvent = (call: CallPiece): TextEvent => {
    const index = indexOf(call);
    const isFirst = !knownCalls.has(index);
    const id = isFirst ? (call.id ?? `call_${randomUUID().replaceAll('-', '')}`) : undefined;
    if (isFirst) knownCalls.set(index, call.id ?? null);
    const name = call.function?.name;
    return {
      type: 'tool_call',
      index,
      ...(id === undefined ? {} : { id }),
      ...(isFirst && name !== undefined ? { name } : {}),
      arguments: argumentsText(call.function?.arguments),
      ...(call.extra_content === undefined ? {} : { extraContent: call.extra_content }),
    };
  };

  const toLegacyEvent = (call: NonNullable<Delta['function_call']>): TextEvent => {
    const isFirst = !knownCalls.has(0);
    knownCalls.set(0, null);
    return {
      type: 'tool_call',
      index: 0,
      ...(isFirst && call.name !== undefined ? { name: call.name } : {}),
      arguments: argumentsText(call.arguments),
    };
  };

  const eventsOf = (delta: Delta, extras: TextExtras | undefined): TextEvent[] => {
    const reasoning = delta.reasoning_content ?? delta.reasoning;
    return [
      ...textEvent('reasoning', reasoning),
      ...contentEvent(delta.content ?? '', extras),
      ...textEvent('refusal', delta.refusal),
      ...(delta.tool_calls ?? []).map(toCallEvent),
      ...(delta.function_call === undefined ? [] : [toLegacyEvent(delta.function_call)]),
    ];
  };

  return {
    /** Returns the events of one chunk; none for a value that is no chunk. */
    read: (value: unknown): TextEvent[] => {
      const parsed = chunkSchema.safeParse(value);
      if (!parsed.success) return [];
      const choice = parsed.data.choices?.[0];
      if (parsed.data.usage !== undefined) usage = toUsage(parsed.data.usage);
      if (choice === undefined) return [];
      const { delta = {}, logprobs, finish_reason: reason } = choice;
      if (reason !== undefined && reason !== '') finish ??= toFinishReason(reason);
      return eventsOf(delta, toExtras(delta, logprobs));
    },
    /** Null when the answer had no finish reason, so it was cut off. Some upstreams end a tool call with `stop`. */
    finishReason: (): FinishReason | null =>
      finish === 'stop' && knownCalls.size > 0 ? 'tool_calls' : finish,
    /** The last reported usage; null when there was none. */
    usage: (): TextUsage | null => usage,
  };
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

const toFinishReason = (reason: string): FinishReason => {
  switch (reason) {
    case 'length':
    case 'max_tokens':
      return 'length';
    case 'tool_calls':
    case 'content_filter':
    case 'function_call':
      return reason;
    default:
      return 'stop';
  }
};

/** Reasoning is billed as completion. Upstreams that leave it out of `completion_tokens` still have it in the total. */
const toUsage = (usage: z.infer<typeof usageSchema>): TextUsage => {
  const { prompt_tokens_details: prompt, completion_tokens_details: completion } = usage;
  return {
    promptTokens: usage.prompt_tokens,
    completionTokens: Math.max(usage.completion_tokens, (usage.total_tokens ?? 0) - usage.prompt_tokens),
    cachedTokens: prompt?.cached_tokens ?? null,
    reasoningTokens: completion?.reasoning_tokens ?? null,
    promptAudioTokens: prompt?.audio_tokens,
    completionAudioTokens: completion?.audio_tokens,
    acceptedPredictionTokens: completion?.accepted_prediction_tokens,
    rejectedPredictionTokens: completion?.rejected_prediction_tokens,
  };
};
