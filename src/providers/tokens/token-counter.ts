import type { Log } from '../../kit/log.ts';
import { ThreadError } from '../../kit/threads/connect-thread.ts';
import { createThreadPool } from '../../kit/threads/thread-pool.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kit/json.ts';
import type { TextMessage, TextRequest } from '../text/text-provider.ts';

export type TokenCounter = ReturnType<typeof createTokenCounter>;

/**
 * Counts tokens (o200k_base) in a thread, as loading takes 0.2 s. A text above 131,072 UTF-16 units is estimated from a
 * sample. A count is never above the UTF-8 bytes, and the same for the same text unless the thread is overloaded.
 */
export const createTokenCounter = ({ log }: { log: Log }) => {
  const pool = createThreadPool<string[][], number[]>({
    file: new URL('./worker.ts', import.meta.url),
    size: 1,
    queueLimit: 1_000,
    timeoutMs: 10_000,
    maxHeapMb: 512,
  });
  return {
    /** Returns the number of tokens of each text. Throws only the signal's reason. */
    count: async (texts: readonly string[], signal: AbortSignal): Promise<number[]> => {
      const sliced = texts.map(sliceText);
      try {
        const counts = await pool.run(
          sliced.map(({ slices }) => slices),
          signal,
        );
        return sliced.map(({ scale }, index) => {
          const counted = counts[index] ?? 0;
          if (scale === 1) return counted;
          // A token has at least one byte. A sample of a text in two scripts might count more.
          return Math.min(Math.ceil(counted * scale), Buffer.byteLength(texts[index] ?? ''));
        });
      } catch (error) {
        if (!(error instanceof ThreadError)) throw error;
        log.warn({ err: error }, 'tokens are estimated, as the counting thread gave no answer');
        // English text has about four characters a token.
        return texts.map(({ length }) => Math.ceil(length / 4));
      }
    },
    close: () => pool.close(),
  };
};

/** In UTF-16 units: the encoder's time grows with the square of a run without breaks. A cut adds a token at most. */
const sliceLength = 512;

/** The longest text that is counted whole, in UTF-16 units. Of a longer one, an evenly spread sample of this size is counted. */
export const wholeTextLength = 131_072;

/**
 * Cuts a text, or a sample of it, into slices. The place of the sample depends on the length alone. `scale`: the factor for
 * the tokens of the slices, above 1 for a sample.
 */
export const sliceText = (text: string) => {
  if (text.length <= wholeTextLength) return { slices: cut(text), scale: 1 };
  const sampleCount = wholeTextLength / sliceLength;
  const stride = text.length / sampleCount;
  const slices = Array.from({ length: sampleCount }, (_, index) => {
    const start = afterPair(text, Math.floor(index * stride));
    return text.slice(start, afterPair(text, start + sliceLength));
  });
  const sampled = slices.reduce((sum, slice) => sum + slice.length, 0);
  return { slices, scale: text.length / sampled };
};

const cut = (text: string): string[] => {
  const slices: string[] = [];
  for (let start = 0; start < text.length;) {
    const end = afterPair(text, start + sliceLength);
    slices.push(text.slice(start, end));
    start = end;
  }
  return slices;
};

/** Moves `position` past a surrogate pair that it would cut in two. */
const afterPair = (text: string, position: number): number => {
  const unit = text.charCodeAt(position);
  const isLowSurrogate = unit >= 0xdc00 && unit <= 0xdfff;
  const before = text.charCodeAt(position - 1);
  return isLowSurrogate && before >= 0xd800 && before <= 0xdbff ? position + 1 : position;
};

/** Tokens that OpenAI's chat format adds to each message, and to the whole prompt. */
const tokensPerMessage = 4;
const tokensPerPrompt = 3;

/** Tokens of a picture or a sound when the upstream reports no usage: those of a picture at OpenAI's low detail. */
const tokensPerMediaPart = 85;

/**
 * Collects all text of a request that the model reads, to count its tokens. `extraTokens`: those in addition to the text, of
 * message frames and media parts. Takes linear time.
 */
export const promptText = ({ messages, options }: Pick<TextRequest, 'messages' | 'options'>) => {
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
  if (!isJsonObject(call)) return [];
  return [call['name'], call['arguments']].filter((text) => typeof text === 'string');
};
