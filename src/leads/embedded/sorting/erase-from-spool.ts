import { closeSync, existsSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { usernameKey } from '../../query/username-key.ts';
import {
  chunkHeaderBytes,
  hashOfPerson,
  partitionOf,
  recordHeaderBytes,
  recordKinds,
  sealChunk,
} from './spool-format.ts';
import { openSpoolReader, type Chunk } from './spool-reader.ts';

/**
 * Overwrites these people's profiles in the first `bytes` of the spool `file` with zeros, and cuts off the rest. On the
 * disk when it returns. A chunk that a crash leaves half written is found damaged, and the input is read again.
 */
export const eraseFromSpool = (file: string, bytes: number, usernames: readonly string[]): void => {
  if (!existsSync(file)) return;
  const people = new Set(usernames.map(usernameKey));
  const concerned = new Set(usernames.map((username) => partitionOf(hashOfPerson(username))));
  const reader = openSpoolReader(file, bytes);
  const descriptor = openSync(file, 'r+');
  try {
    // The rest belongs to no checkpoint: rows that will be read again, and copies of current profiles.
    ftruncateSync(descriptor, bytes);
    for (const partition of concerned) {
      for (const chunk of reader.chunks(partition))
        if (eraseRecords(chunk, people)) {
          sealChunk(chunk.bytes, partition);
          writeSync(descriptor, chunk.bytes, 0, chunk.bytes.length, chunk.offset);
        }
    }
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
    reader.close();
  }
};

const eraseRecords = ({ bytes }: Chunk, people: ReadonlySet<string>): boolean => {
  let hasErased = false;
  for (let start = chunkHeaderBytes; start < bytes.length; start += bytes.readUInt32LE(start)) {
    const nameStart = start + recordHeaderBytes;
    const username = bytes.toString('utf8', nameStart, nameStart + bytes.readUInt16LE(start + 6));
    if (bytes.readUInt16LE(start + 4) !== recordKinds.profile || !people.has(usernameKey(username))) continue;
    bytes.fill(0, start + 4, start + bytes.readUInt32LE(start));
    bytes.writeUInt16LE(recordKinds.erased, start + 4);
    hasErased = true;
  }
  return hasErased;
};
