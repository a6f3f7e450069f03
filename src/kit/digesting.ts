import type { Hash } from 'node:crypto';

/** The same bytes, which go into the hash on their way. */
export const digesting = async function* (
  source: AsyncIterable<Uint8Array>,
  hash: Hash,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of source) {
    hash.update(chunk);
    yield chunk;
  }
};
