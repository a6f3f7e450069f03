import type { TokenCounter } from '../tokens/token-counter.ts';

export interface FittedText {
  /** In order. Joined, they are the text or its beginning. */
  pieces: string[];
  tokens: number;
  isCut: boolean;
}

/** Words with the space before them. Text without spaces is split every 16 characters. */
const wordPattern = /\s*\S{1,16}|\s+$/gu;

/** Splits a text at words and keeps as many from its beginning as `maxTokens` allows. */
export const fitToTokens = async (
  text: string,
  { counter, maxTokens, signal }: { counter: TokenCounter; maxTokens: number; signal: AbortSignal },
): Promise<FittedText> => {
  const words = text.match(wordPattern) ?? [];
  const counts = await counter.count(words, signal);
  let tokens = 0;
  let kept = 0;
  while (kept < words.length && tokens + (counts[kept] ?? 0) <= maxTokens) {
    tokens += counts[kept] ?? 0;
    kept += 1;
  }
  return { pieces: words.slice(0, kept), tokens, isCut: kept < words.length };
};
