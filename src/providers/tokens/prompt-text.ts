import type { Json, JsonObject } from '../../kit/json.ts';
import type { TextMessage, TextRequest } from '../text/text-provider.ts';

/** What OpenAI's chat format adds to each message, and to the whole. */
const tokensPerMessage = 4;
const tokensPerPrompt = 3;

/** What a picture or a sound in a prompt is counted as when only we count: a picture at OpenAI's low detail. */
const tokensPerMediaPart = 85;

export interface PromptText {
  /** All that the model reads as text. */
  text: string;
  /** Tokens on top of those of `text`: message frames and media parts. */
  extraTokens: number;
}

/** What is counted for a request whose upstream reports no usage. Linear in the request. */
export const promptText = ({ messages, options }: Pick<TextRequest, 'messages' | 'options'>): PromptText => {
  const texts: string[] = [];
  let extraTokens = tokensPerPrompt;
  for (const message of messages) {
    extraTokens += tokensPerMessage;
    for (const part of messageParts(message)) {
      if (part === null) extraTokens += tokensPerMediaPart;
      else texts.push(part);
    }
  }
  for (const name of ['tools', 'functions', 'response_format']) {
    const value = options[name];
    if (value !== undefined && value !== null) texts.push(JSON.stringify(value));
  }
  return { text: texts.join(''), extraTokens };
};

/** The texts of a message; null stands for a picture or a sound. */
const messageParts = function* ({
  content,
  tool_calls: calls,
  function_call: call,
}: TextMessage): Generator<string | null> {
  if (typeof content === 'string') yield content;
  else if (Array.isArray(content)) yield* content.map(partText);
  for (const toolCall of calls ?? []) yield* callTexts(toolCall['function']);
  yield* callTexts(call);
};

const partText = (part: JsonObject): string | null => {
  const text = part['text'] ?? part['refusal'];
  return typeof text === 'string' ? text : null;
};

const callTexts = (call: Json | undefined): string[] => {
  if (call === null || typeof call !== 'object' || Array.isArray(call)) return [];
  return [call['name'], call['arguments']].filter((text) => typeof text === 'string');
};
