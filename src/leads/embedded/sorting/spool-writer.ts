import { closeSync, fdatasync, ftruncateSync, openSync, writeFileSync } from 'node:fs';
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

/** Also the size of reads of a partition. The buffers of all partitions together are 16 MB. */
const bufferBytes = 64 * 1024;
const syncData = promisify(fdatasync);

/** Opens the spool `file` after its first `bytes` and cuts off the rest. Synchronous. */
export const openSpoolWriter = (file: string, bytes: number) => {
  const descriptor = openSync(file, bytes === 0 ? 'w' : 'a');
  if (bytes > 0) ftruncateSync(descriptor, bytes);
  const buffers: (PartitionBuffer | undefined)[] = Array.from({ length: partitions }, () => undefined);
  let position = bytes;
  let bufferedBytes = 0;

  const write = (partition: number, { chunk, length }: PartitionBuffer): void => {
    const whole = chunk.subarray(0, length);
    sealChunk(whole, partition);
    writeFileSync(descriptor, whole);
    position += length;
  };
  const flushOne = (partition: number): void => {
    const buffer = buffers[partition];
    if (buffer === undefined || buffer.length === chunkHeaderBytes) return;
    write(partition, buffer);
    bufferedBytes -= buffer.length - chunkHeaderBytes;
    buffer.length = chunkHeaderBytes;
  };
  /** Returns a buffer with room for `most` bytes: the partition's, or a new one for a large record. */
  const reserve = (partition: number, most: number): PartitionBuffer => {
    const buffer = (buffers[partition] ??= newBuffer(bufferBytes));
    if (buffer.length + most <= buffer.chunk.length) return buffer;
    flushOne(partition);
    return most <= bufferBytes - chunkHeaderBytes ? buffer : newBuffer(chunkHeaderBytes + most);
  };
  const addRecord = (kind: number, { username, followers }: Lead, json: string): void => {
    const partition = partitionOf(hashOfPerson(username));
    // A UTF-16 unit takes at most three bytes of UTF-8.
    const buffer = reserve(partition, recordHeaderBytes + 3 * (username.length + json.length));
    const start = buffer.length;
    encodeRecord(buffer, { kind, username, followers, json });
    if (buffer === buffers[partition]) bufferedBytes += buffer.length - start;
    else write(partition, buffer);
  };

  return {
    /** The size of the file so far. */
    get bytes(): number {
      return position;
    },
    /** Buffered bytes that are not in the file yet. */
    get bufferedBytes(): number {
      return bufferedBytes;
    },
    /** Adds a profile. It replaces all earlier ones of the same person. */
    add: (lead: Lead): void => addRecord(recordKinds.profile, lead, JSON.stringify(lead)),
    /**
     * Adds a person whose profile is already in the index, after all `add` calls. The profile stays if no added one is
     * the same person's and `json` is not null.
     */
    addKnown: ({ lead, json }: { lead: Lead; json: string | null }): void =>
      addRecord(recordKinds.known, lead, json ?? ''),
    flush: (): void => {
      for (let partition = 0; partition < partitions; partition += 1) flushOne(partition);
    },
    /** Resolves when everything flushed before the call is on the disk. */
    sync: (): Promise<void> => syncData(descriptor),
    close: (): void => closeSync(descriptor),
  };
};

/** A growing chunk. `length` includes its header, which is filled in at its end. */
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
