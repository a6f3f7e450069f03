/**
 * Reads the first bytes of a source, fewer than `length` only if it ends. `body` yields all bytes, also those of `head`,
 * and closes the source when its reader stops. `close` closes it in place of reading `body`. Throws the source's error.
 */
export const peekStream = async <Chunk extends Uint8Array>(source: AsyncIterable<Chunk>, length: number) => {
  const chunks = source[Symbol.asyncIterator]();
  const close = async (): Promise<void> => void (await chunks.return?.());
  const read: Uint8Array[] = [];
  for (let bytes = 0; bytes < length;) {
    const next = await chunks.next();
    if (next.done === true) break;
    read.push(next.value);
    bytes += next.value.length;
  }
  const head = Buffer.concat(read);
  const readOn = async function* (): AsyncGenerator<Buffer | Chunk, void, undefined> {
    try {
      yield head;
      yield* { [Symbol.asyncIterator]: () => chunks };
    } finally {
      await close();
    }
  };
  return { head, body: readOn(), close };
};
