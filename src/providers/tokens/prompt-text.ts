import type { Json, JsonObject } from '../../kit/json.ts';
import type { TextMessage, TextRequest } from '../text/text-provider.ts';

/** Tokens that OpenAI's chat format adds to each message, and to the whole prompt. */
const tokensPerMessage = 4;
const tokensPerPrompt = 3;

/** Tokens of a picture or a sound when the upstream reports no usage: those of a picture at OpenAI's low detail. */
const tokensPerMediaPart = 85;

export interface PromptText {
  /** All text that the model reads. */
  text: string;
  /** Tokens in addition to those of `text`: message frames and media parts. */
  extraTokens: number;
}

/** Collects the text of a request for counting its tokens. Takes linear time. */
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

/** Yields the texts of a message, and null for each picture or sound. */
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
