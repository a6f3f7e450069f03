import { closeSync, fdatasync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Lead } from '../../lead-source.ts';
import {
  chunkHeaderBytes,
  hashOfPerson,
  partitionOf,
  partitions,
  recordHeaderBytes,
  recordKinds,
  sealChunk,
} from './spool-format.ts';

export interface SpoolWriter {
  /** The bytes of the file so far. */
  readonly bytes: number;
  /** What is buffered beyond them. */
  readonly bufferedBytes: number;
  /** A profile; one that is added later stands for all of the same person added before. */
  add(lead: Lead): void;
  /**
   * Somebody whose profile is searched already, after all that were added. It stays when none of these is the same
   * person's and `json` is not null.
   */
  addKnown(known: { lead: Lead; json: string | null }): void;
  /** Writes what is buffered. */
  flush(): void;
  /** What was flushed before the call is on the disk when it resolves. */
  sync(): Promise<void>;
  close(): void;
}

/** Also how much of a partition is read at once. The buffers of all partitions together are 16 MB. */
const bufferBytes = 64 * 1024;
const syncData = promisify(fdatasync);

/** Opens the spool in `file` and goes on behind its first `bytes`; what comes after them is cut off. Synchronous. */
export const openSpoolWriter = (file: string, bytes: number): SpoolWriter => {
  const descriptor = openSync(file, bytes === 0 ? 'w' : 'r+');
  if (bytes > 0) ftruncateSync(descriptor, bytes);
  const buffers: (PartitionBuffer | undefined)[] = Array.from({ length: partitions }, () => undefined);
  let position = bytes;
  let bufferedBytes = 0;

  const write = (partition: number, { chunk, length }: PartitionBuffer): void => {
    const whole = chunk.subarray(0, length);
    sealChunk(whole, partition);
    let written = 0;
    while (written < length)
      written += writeSync(descriptor, whole, written, length - written, position + written);
    position += length;
  };
  const flushOne = (partition: number): void => {
    const buffer = buffers[partition];
    if (buffer === undefined || buffer.length === chunkHeaderBytes) return;
    write(partition, buffer);
    bufferedBytes -= buffer.length - chunkHeaderBytes;
    buffer.length = chunkHeaderBytes;
  };
  /** Where `most` bytes can be put: the partition's buffer, or one for this record alone when it is that large. */
  const reserve = (partition: number, most: number): PartitionBuffer => {
    const buffer = (buffers[partition] ??= newBuffer(bufferBytes));
    if (buffer.length + most <= buffer.chunk.length) return buffer;
    flushOne(partition);
    return most <= bufferBytes - chunkHeaderBytes ? buffer : newBuffer(chunkHeaderBytes + most);
  };
  const addRecord = (kind: number, { username, followers }: Lead, json: string): void => {
    const partition = partitionOf(hashOfPerson(username));
    // A UTF-16 unit takes three bytes of UTF-8 at most.
    const buffer = reserve(partition, recordHeaderBytes + 3 * (username.length + json.length));
    const start = buffer.length;
    encodeRecord(buffer, { kind, username, followers, json });
    if (buffer === buffers[partition]) bufferedBytes += buffer.length - start;
    else write(partition, buffer);
  };

  return {
    get bytes() {
      return position;
    },
    get bufferedBytes() {
      return bufferedBytes;
    },
    add: (lead) => addRecord(recordKinds.profile, lead, JSON.stringify(lead)),
    addKnown: ({ lead, json }) => addRecord(recordKinds.known, lead, json ?? ''),
    flush: () => {
      for (let partition = 0; partition < partitions; partition += 1) flushOne(partition);
    },
    sync: () => syncData(descriptor),
    close: () => closeSync(descriptor),
  };
};

/** A chunk that grows; `length` counts its header, which is filled in at its end. */
interface PartitionBuffer {
  chunk: Buffer;
  length: number;
}

const newBuffer = (bytes: number): PartitionBuffer => ({
  chunk: Buffer.allocUnsafe(bytes),
  length: chunkHeaderBytes,
});

const encodeRecord = (
  buffer: PartitionBuffer,
  { kind, username, followers, json }: { kind: number; username: string; followers: number; json: string },
): void => {
  const { chunk, length: start } = buffer;
  const nameBytes = chunk.write(username, start + recordHeaderBytes);
  if (nameBytes > 0xffff) throw new RangeError('A username is longer than 65,535 bytes.');
  const nameEnd = start + recordHeaderBytes + nameBytes;
  const end = nameEnd + chunk.write(json, nameEnd);
  chunk.writeUInt32LE(end - start, start);
  chunk.writeUInt16LE(kind, start + 4);
  chunk.writeUInt16LE(nameBytes, start + 6);
  chunk.writeUInt32LE(followers, start + 8);
  buffer.length = end;
};
