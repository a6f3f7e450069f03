import type { FinishReason, TextEvent, TextUsage } from '../providers/text/text-provider.ts';
import type { JsonObject } from '../json.ts';

/** The longest answer kept, in UTF-16 units: far above 65,536 tokens of anything sane. */
const longestAnswer = 8 * 1024 * 1024;

interface ToolCall {
  id: string;
  name: string;
  arguments: string;
}

/** Gathers the events of one answer into the message and usage of a chat completion. */
export interface ChatAccumulator {
  /** Throws RangeError when the answer grows beyond any allowed length. */
  add(event: TextEvent): void;
  /** Null until both finish and usage have come. */
  complete(): { message: JsonObject; finishReason: FinishReason; usage: TextUsage } | null;
}

export const createChatAccumulator = ({ isLegacyCall }: { isLegacyCall: boolean }): ChatAccumulator => {
  const pieces = { content: [] as string[], reasoning: [] as string[], refusal: [] as string[] };
  const calls = new Map<number, ToolCall>();
  let length = 0;
  let finishReason: FinishReason | null = null;
  let usage: TextUsage | null = null;

  const grow = (text: string): string => {
    length += text.length;
    if (length > longestAnswer) throw new RangeError('the upstream answer has no end');
    return text;
  };

  const addCall = (event: TextEvent & { type: 'tool_call' }): void => {
    const call = calls.get(event.index) ?? { id: '', name: '', arguments: '' };
    if (!calls.has(event.index)) grow('call');
    calls.set(event.index, {
      id: event.id ?? call.id,
      name: event.name ?? call.name,
      arguments: call.arguments + grow(event.arguments),
    });
  };

  const message = (): JsonObject => {
    const functions = [...calls.entries()].sort(([a], [b]) => a - b).map(([, call]) => call);
    const first = functions[0];
    const isTextless = pieces.content.length === 0 && (functions.length > 0 || pieces.refusal.length > 0);
    return {
      role: 'assistant',
      content: isTextless ? null : pieces.content.join(''),
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
              })),
            }),
    };
  };

  return {
    add: (event) => {
      switch (event.type) {
        case 'content':
        case 'reasoning':
        case 'refusal':
          pieces[event.type].push(grow(event.text));
          return;
        case 'tool_call':
          addCall(event);
          return;
        case 'finish':
          finishReason = event.reason;
          return;
        case 'usage':
          usage = event.usage;
          return;
      }
    },
    complete: () =>
      finishReason === null || usage === null ? null : { message: message(), finishReason, usage },
  };
};

/** Usage in the contract's wire form. */
export const toWireUsage = (usage: TextUsage): JsonObject => ({
  prompt_tokens: usage.promptTokens,
  completion_tokens: usage.completionTokens,
  total_tokens: usage.promptTokens + usage.completionTokens,
  prompt_tokens_details: { cached_tokens: usage.cachedTokens, audio_tokens: null },
  completion_tokens_details: {
    reasoning_tokens: usage.reasoningTokens,
    audio_tokens: null,
    accepted_prediction_tokens: null,
    rejected_prediction_tokens: null,
  },
});
