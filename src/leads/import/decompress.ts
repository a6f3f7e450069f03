import { pipeline, Readable } from 'node:stream';
import { createGunzip, createZstdDecompress, type ZstdDecompress } from 'node:zlib';
import { LeadInputError } from './input-options.ts';

export type Compression = 'gzip' | 'zstd';

/** Detects the magic bytes of gzip (RFC 1952), zstd and zstd's skippable frames (RFC 8878). */
export const compressionOf = (head: Buffer): Compression | null => {
  if (head.length >= 2 && head.readUInt16BE(0) === 0x1f8b) return 'gzip';
  if (head.length < 4) return null;
  const magic = head.readUInt32LE(0);
  return magic === 0xfd2fb528 || (magic & 0xfffffff0) >>> 0 === 0x184d2a50 ? 'zstd' : null;
};

const outputBytes = 256 * 1024;

/** Yields the decompressed bytes of all members or frames. Rejects with LeadInputError if they are damaged. */
export async function* decompress(
  chunks: AsyncIterable<Buffer>,
  { file, compression, signal }: { file: string; compression: Compression; signal: AbortSignal },
): AsyncGenerator<Buffer> {
  try {
    for await (const block of compression === 'gzip' ? gunzip(chunks) : unzstd(chunks)) {
      // A stored block may give thousands of blocks.
      signal.throwIfAborted();
      yield block;
    }
  } catch (error) {
    signal.throwIfAborted();
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!/^Z(?:STD)?_/.test(code)) throw error;
    let problem = `is damaged: its ${compression} data cannot be decompressed (${code})`;
    if (code === 'Z_BUF_ERROR')
      problem = `ends in the middle of its ${compression} data; get the complete file again`;
    if (code.includes('windowTooLarge'))
      problem = 'was compressed with a window above 128 MiB; compress it without --long';
    throw new LeadInputError(`${file} ${problem}.`, { cause: error });
  }
}

async function* gunzip(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  // An error in the pipeline reaches the reader at its end.
  const unpacked = pipeline(Readable.from(chunks), createGunzip({ chunkSize: outputBytes }), () => {});
  for await (const block of unpacked) yield block;
}

/**
 * Node's stream ends with a frame that ends within a block, and drops the rest of the block. So blocks are written one
 * by one, and the rest of a block goes to a new stream.
 */
async function* unzstd(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const source = chunks[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  let isOver = false;
  /** Writes blocks until the frame, or the source, ends. */
  const feed = async (stream: ZstdDecompress): Promise<void> => {
    for (;;) {
      if (rest.length === 0) {
        const next = await source.next();
        if (next.done === true) {
          isOver = true;
          return void stream.end();
        }
        rest = next.value;
      }
      const before = stream.bytesWritten;
      const error = await new Promise((resolve) => stream.write(rest, resolve));
      rest = rest.subarray(stream.bytesWritten - before);
      if (error instanceof Error || rest.length > 0) return;
    }
  };
  try {
    while (!isOver) {
      const stream = createZstdDecompress({ chunkSize: outputBytes });
      const feeding = feed(stream).catch((error: Error) => void stream.destroy(error));
      for await (const block of stream) yield block;
      await feeding;
    }
  } finally {
    await source.return?.();
  }
}
