import { crc32 } from 'node:zlib';
import { usernameKey } from '../../query/username-key.ts';

/*
 * A spool is one file that takes profiles in any order and returns them by partition. All rows of a person are in the
 * same partition. It is one file, not one per partition, because it is flushed to the disk every second.
 *
 * It is a sequence of chunks, each with records of one partition, little-endian:
 *   chunk:  u32 partition, u32 bytes of its records, u32 CRC-32 of these eight bytes and the records; the records
 *   record: u32 its bytes, u8 kind, u8 0, u16 bytes of the username, u32 followers; the username; the rest
 */
export const partitions = 256;
export const chunkHeaderBytes = 12;
export const recordHeaderBytes = 12;

export const recordKinds = {
  /** A profile; the rest is its JSON. */
  profile: 1,
  /** A person whose profile is already in the index. The rest is its JSON, or empty if it must not stay. */
  known: 2,
  /** A profile whose person was forgotten while it was here: zeros. */
  erased: 3,
} as const;

/** FNV-1a. Its low bits choose the partition; its higher bits divide a partition that is too large. */
export const hashOfPerson = (username: string): number => {
  const key = usernameKey(username);
  let value = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1)
    value = Math.imul(value ^ key.charCodeAt(index), 0x01000193);
  value ^= value >>> 15;
  value = Math.imul(value, 0x2c1b3c6d);
  return (value ^ (value >>> 13)) >>> 0;
};

export const partitionOf = (personHash: number): number => personHash % partitions;

/** Completes the header of `chunk`, whose records are in place. */
export const sealChunk = (chunk: Buffer, partition: number): void => {
  chunk.writeUInt32LE(partition, 0);
  chunk.writeUInt32LE(chunk.length - chunkHeaderBytes, 4);
  chunk.writeUInt32LE(chunkChecksum(chunk), 8);
};

export const isChunkIntact = (chunk: Buffer): boolean => chunk.readUInt32LE(8) === chunkChecksum(chunk);

const chunkChecksum = (chunk: Buffer): number =>
  crc32(chunk.subarray(chunkHeaderBytes), crc32(chunk.subarray(0, 8)));

export class SpoolDamagedError extends Error {
  override readonly name = 'SpoolDamagedError';
}
