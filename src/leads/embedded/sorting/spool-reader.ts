import { closeSync, openSync, readSync } from 'node:fs';
import { chunkHeaderBytes, isChunkIntact, partitions, SpoolDamagedError } from './spool-format.ts';

export type SpoolReader = ReturnType<typeof openSpoolReader>;

export interface Chunk {
  offset: number;
  bytes: Buffer;
}

/** Opens the first `bytes` of the spool `file`. Throws SpoolDamagedError here or when a chunk is read. Synchronous. */
export const openSpoolReader = (file: string, bytes: number) => {
  const descriptor = openSync(file, 'r');
  try {
    const { offsets, sizes } = findChunks(descriptor, bytes);
    return {
      /** Returns the bytes of one partition's chunks. */
      bytesOf: (partition: number): number => sizes[partition] ?? 0,
      /** Yields the chunks of a partition in written order, with headers. Each is valid until the next. */
      chunks: (partition: number): Iterable<Chunk> => readChunks(descriptor, offsets[partition] ?? []),
      close: (): void => closeSync(descriptor),
    };
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
};

const findChunks = (descriptor: number, bytes: number): { offsets: number[][]; sizes: number[] } => {
  const offsets: number[][] = Array.from({ length: partitions }, () => []);
  const sizes = Array.from({ length: partitions }, () => 0);
  const header = Buffer.allocUnsafe(chunkHeaderBytes);
  let position = 0;
  while (position < bytes) {
    readWhole(descriptor, header, position);
    const partition = header.readUInt32LE(0);
    const size = chunkHeaderBytes + header.readUInt32LE(4);
    const ofPartition = offsets[partition];
    if (ofPartition === undefined || position + size > bytes)
      throw new SpoolDamagedError('A chunk of the spool has a wrong header.');
    ofPartition.push(position);
    sizes[partition] = (sizes[partition] ?? 0) + size;
    position += size;
  }
  return { offsets, sizes };
};

function* readChunks(descriptor: number, offsets: readonly number[]): Generator<Chunk> {
  let buffer = Buffer.allocUnsafe(128 * 1024);
  const header = Buffer.allocUnsafe(chunkHeaderBytes);
  for (const offset of offsets) {
    readWhole(descriptor, header, offset);
    const size = chunkHeaderBytes + header.readUInt32LE(4);
    if (size > buffer.length) buffer = Buffer.allocUnsafe(size);
    const bytes = buffer.subarray(0, size);
    readWhole(descriptor, bytes, offset);
    if (!isChunkIntact(bytes)) throw new SpoolDamagedError('A chunk of the spool is damaged.');
    yield { offset, bytes };
  }
}

const readWhole = (descriptor: number, buffer: Buffer, position: number): void => {
  let read = 0;
  while (read < buffer.length) {
    const length = readSync(descriptor, buffer, read, buffer.length - read, position + read);
    if (length === 0) throw new SpoolDamagedError('The spool ends too early.');
    read += length;
  }
};
