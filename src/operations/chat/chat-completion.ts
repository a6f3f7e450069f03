import type { FinishReason, TextEvent, TextUsage, TextExtras } from '../../providers/text/text-provider.ts';
import type { JsonObject } from '../../kit/json.ts';

/** The longest answer, in UTF-16 units. It is far above 65,536 tokens of any sane text. */
export const longestAnswer = 8 * 1024 * 1024;

interface ToolCall {
  id: string;
  name: string;
  arguments: string;
  extraContent: JsonObject | undefined;
}

export interface CompleteChat {
  message: JsonObject;
  logprobs: JsonObject | null;
  finishReason: FinishReason;
  usage: TextUsage;
}

/** Gathers the events of one answer into the message and usage of a chat completion. */
export interface ChatAccumulator {
  /** Returns the event without extras that are too long. Throws RangeError when the answer is too long. */
  add(event: TextEvent): TextEvent;
  /** Returns null until both finish and usage were added. */
  complete(): CompleteChat | null;
}

export const createChatAccumulator = ({ isLegacyCall }: { isLegacyCall: boolean }): ChatAccumulator => {
  const pieces = { content: [] as string[], reasoning: [] as string[], refusal: [] as string[] };
  const calls = new Map<number, ToolCall>();
  const extras = createExtrasAccumulator();
  let length = 0;
  let finishReason: FinishReason | null = null;
  let usage: TextUsage | null = null;

  const grow = (text: string): string => {
    length += text.length;
    if (length > longestAnswer) throw new RangeError('the upstream answer has no end');
    return text;
  };

  const addCall = (event: TextEvent & { type: 'tool_call' }): void => {
    const call = calls.get(event.index) ?? { id: '', name: '', arguments: '', extraContent: undefined };
    if (!calls.has(event.index)) grow('call');
    if (event.extraContent !== undefined) grow(JSON.stringify(event.extraContent));
    calls.set(event.index, {
      id: event.id ?? call.id,
      name: event.name ?? call.name,
      arguments: call.arguments + grow(event.arguments),
      extraContent: event.extraContent ?? call.extraContent,
    });
  };

  const addContent = (event: TextEvent & { type: 'content' }): TextEvent => {
    if (event.text !== '') pieces.content.push(grow(event.text));
    if (event.extras === undefined || extras.add(event.extras)) return event;
    return { type: 'content', text: event.text };
  };

  const message = (): JsonObject => {
    const functions = [...calls.entries()].sort(([a], [b]) => a - b).map(([, call]) => call);
    const first = functions[0];
    const members = extras.members();
    const saysOtherwise = functions.length > 0 || pieces.refusal.length > 0 || 'audio' in members;
    return {
      role: 'assistant',
      content: pieces.content.length === 0 && saysOtherwise ? null : pieces.content.join(''),
      ...(pieces.reasoning.length === 0 ? {} : { reasoning_content: pieces.reasoning.join('') }),
      refusal: pieces.refusal.length === 0 ? null : pieces.refusal.join(''),
      ...(first === undefined
        ? {}
        : isLegacyCall
          ? { function_call: { name: first.name, arguments: first.arguments } }
          : {
              tool_calls: functions.map((call) => ({
                id: call.id,
                type: 'function',
                function: { name: call.name, arguments: call.arguments },
                ...(call.extraContent === undefined ? {} : { extra_content: call.extraContent }),
              })),
            }),
      ...members,
    };
  };

  return {
    add: (event) => {
      switch (event.type) {
        case 'content':
          return addContent(event);
        case 'reasoning':
        case 'refusal':
          pieces[event.type].push(grow(event.text));
          return event;
        case 'tool_call':
          addCall(event);
          return event;
        case 'finish':
          finishReason = event.reason;
          return event;
        case 'usage':
          ({ usage } = event);
          return event;
      }
    },
    complete: () =>
      finishReason === null || usage === null
        ? null
        : { message: message(), logprobs: extras.logprobs(), finishReason, usage },
  };
};

export const toWireUsage = (usage: TextUsage): JsonObject => ({
  prompt_tokens: usage.promptTokens,
  completion_tokens: usage.completionTokens,
  total_tokens: usage.promptTokens + usage.completionTokens,
  prompt_tokens_details: { cached_tokens: usage.cachedTokens, audio_tokens: usage.promptAudioTokens ?? null },
  completion_tokens_details: {
    reasoning_tokens: usage.reasoningTokens,
    audio_tokens: usage.completionAudioTokens ?? null,
    accepted_prediction_tokens: usage.acceptedPredictionTokens ?? null,
    rejected_prediction_tokens: usage.rejectedPredictionTokens ?? null,
  },
});

/** The limit of extras in one answer, in UTF-16 units of JSON: two minutes of speech as PCM. */
const longestExtras = 8 * 1024 * 1024;

/** Gathers the extras of one answer (log probabilities, annotations, audio) up to a limit. */
const createExtrasAccumulator = () => {
  const tokens = { content: [] as JsonObject[], refusal: [] as JsonObject[] };
  const annotations: JsonObject[] = [];
  const sound: Buffer[] = [];
  const transcript: string[] = [];
  let audio: { id?: string; expires_at?: number } | null = null;
  let length = 0;

  return {
    /** Returns false above the limit. Then these extras and all later ones are left out. */
    add: (extras: TextExtras): boolean => {
      length += JSON.stringify(extras).length;
      if (length > longestExtras) return false;
      for (const token of extras.logprobs?.content ?? []) tokens.content.push(token);
      for (const token of extras.logprobs?.refusal ?? []) tokens.refusal.push(token);
      for (const annotation of extras.annotations ?? []) annotations.push(annotation);
      if (extras.audio !== undefined) {
        const { data, transcript: words, ...rest } = extras.audio;
        audio = { ...audio, ...rest };
        if (data !== undefined) sound.push(Buffer.from(data, 'base64'));
        if (words !== undefined) transcript.push(words);
      }
      return true;
    },
    /** Returns the choice's `logprobs` in the contract's form. */
    logprobs: (): JsonObject | null =>
      tokens.content.length + tokens.refusal.length === 0
        ? null
        : { content: orNull(tokens.content), refusal: orNull(tokens.refusal) },
    /** Returns the message's `annotations` and `audio`, where there are any. */
    members: (): JsonObject => ({
      ...(annotations.length === 0 ? {} : { annotations }),
      ...(audio === null
        ? {}
        : {
            audio: {
              ...audio,
              data: Buffer.concat(sound).toString('base64'),
              transcript: transcript.join(''),
            },
          }),
    }),
  };
};

const orNull = (list: JsonObject[]): JsonObject[] | null => (list.length === 0 ? null : list);
