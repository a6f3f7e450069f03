import { pipeline, Readable } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { LeadInputError } from './lead-input-error.ts';

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
    yield* compression === 'gzip' ? gunzip(chunks) : unzstd(chunks, file);
  } catch (error) {
    signal.throwIfAborted();
    throw damage(error, { file, compression });
  }
}

const damage = (
  error: unknown,
  { file, compression }: { file: string; compression: Compression },
): unknown => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'Z_BUF_ERROR')
    return new LeadInputError(
      `${file} ends in the middle of its ${compression} data; get the complete file again.`,
      { cause: error },
    );
  if (code.includes('windowTooLarge'))
    return new LeadInputError(
      `${file} was compressed with a window above 128 MiB; compress it without --long.`,
      { cause: error },
    );
  return code.startsWith('Z_') || code.startsWith('ZSTD_')
    ? new LeadInputError(`${file} is damaged: its ${compression} data cannot be decompressed (${code}).`, {
        cause: error,
      })
    : error;
};

async function* gunzip(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  // An error in the pipeline reaches the reader at its end.
  const unpacked = pipeline(Readable.from(chunks), createGunzip({ chunkSize: outputBytes }), () => {});
  for await (const block of unpacked) yield block;
}

/**
 * Node's stream ends with a frame that ends within a block, and drops the rest of the block. So blocks are written one
 * by one, and the rest of a block goes to a new stream.
 */
async function* unzstd(chunks: AsyncIterable<Buffer>, file: string): AsyncGenerator<Buffer> {
  let unpacker = openUnpacker();
  try {
    for await (const chunk of chunks) {
      let rest = chunk;
      while (rest.length > 0) {
        const usedBefore = unpacker.usedBytes();
        yield* unpacker.write(rest);
        const used = unpacker.usedBytes() - usedBefore;
        if (used === 0 && usedBefore === 0)
          throw new LeadInputError(`${file} is damaged: its zstd data cannot be decompressed.`);
        rest = rest.subarray(used);
        if (rest.length === 0) break;
        unpacker.close();
        unpacker = openUnpacker();
      }
    }
    yield* unpacker.end();
  } finally {
    unpacker.close();
  }
}

const openUnpacker = () => {
  const stream = createZstdDecompress({ chunkSize: outputBytes });
  let news = Promise.withResolvers<void>();
  let failure: Error | null = null;
  stream.on('readable', () => news.resolve());
  stream.on('error', (error) => {
    failure = error;
    news.resolve();
  });
  async function* readUntil(isOver: () => boolean): AsyncGenerator<Buffer> {
    for (;;) {
      news = Promise.withResolvers<void>();
      for (let block = stream.read() as Buffer | null; block !== null; block = stream.read() as Buffer | null)
        yield block;
      if (failure !== null) throw failure;
      if (isOver()) return;
      await news.promise;
    }
  }
  return {
    /** Decompresses `block`, or the part of it that belongs to the frame. */
    async *write(block: Buffer): AsyncGenerator<Buffer> {
      let isWritten = false;
      stream.write(block, () => {
        isWritten = true;
        news.resolve();
      });
      yield* readUntil(() => isWritten);
    },
    /** Yields the remaining output when no input follows. */
    async *end(): AsyncGenerator<Buffer> {
      let isOver = false;
      stream.on('end', () => {
        isOver = true;
        news.resolve();
      });
      stream.end();
      yield* readUntil(() => isOver);
    },
    /** The number of input bytes that were used. */
    usedBytes: (): number => stream.bytesWritten,
    close: (): void => void stream.destroy(),
  };
};
