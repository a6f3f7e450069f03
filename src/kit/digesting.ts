import type { Hash } from 'node:crypto';

/** Yields the same bytes and adds them to the hash. */
export const digesting = async function* (
  source: AsyncIterable<Uint8Array>,
  hash: Hash,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of source) {
    hash.update(chunk);
    yield chunk;
  }
};
