import { parentPort } from 'node:worker_threads';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { WorkerReply } from '../worker-pool.ts';

// Text that looks like a control token is counted as the plain text that it is.
const plainText = { disallowedSpecial: new Set<string>() };

/** Each message is a list of texts, each in short slices; the reply is each text's number of tokens. */
const count = (texts: readonly (readonly string[])[]): number[] =>
  texts.map((slices) => slices.reduce((sum, slice) => sum + countTokens(slice, plainText), 0));

parentPort?.on('message', (texts: string[][]) => {
  const reply: WorkerReply<number[]> = { output: count(texts) };
  parentPort?.postMessage(reply);
});
