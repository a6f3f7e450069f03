import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { serveCalls } from '../../kit/threads/serve-calls.ts';

// Text that looks like a control token is counted as the plain text that it is.
const plainText = { disallowedSpecial: new Set<string>() };

/** Each call is a list of texts, each in short slices; the answer is the number of tokens of each text. */
serveCalls((texts: readonly (readonly string[])[]): number[] =>
  texts.map((slices) => slices.reduce((sum, slice) => sum + countTokens(slice, plainText), 0)),
);
