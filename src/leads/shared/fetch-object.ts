import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, type WriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { syncToDisk } from '../../kit/sync-to-disk.ts';
import { requireRoom, type ReadDiskRoom } from '../embedded/changing/disk-room.ts';
import type { StoredObject } from './shared-manifest.ts';
import type { SharedPlace } from './shared-place.ts';

export interface FetchOptions {
  object: StoredObject;
  /** The file to write or replace. It has the whole, checked object, or is unchanged. */
  file: string;
  /** Whether the object is on the disk at the end. Default true. */
  isDurable?: boolean;
  readRoom: ReadDiskRoom;
  signal: AbortSignal;
  /** Called with the length of each part. */
  onBytes?: (bytes: number) => void;
}

/** Copies an object to this disk. Rejects if its content is not as it was written, or the disk has no room for it. */
export const fetchObject = async (
  place: SharedPlace,
  { object: { name, sha256, bytes }, file, isDurable = true, readRoom, signal, onBytes }: FetchOptions,
): Promise<void> => {
  requireRoom(dirname(file), { bytes, readRoom });
  const source = await place.get(name, { signal });
  const hash = createHash('sha256');
  let received = 0;
  const damaged = (): Error => new Error(`${name} in ${place.address} is not as it was written`);
  const check = async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      received += chunk.byteLength;
      if (received > bytes) throw damaged();
      hash.update(chunk);
      onBytes?.(chunk.byteLength);
      yield chunk;
    }
  };
  const write = async (sink: WriteStream): Promise<void> => {
    await pipeline(source, check, sink, { signal });
    if (received !== bytes || hash.digest('hex') !== sha256) throw damaged();
  };
  await writeWhole(file, write, { isDurable });
};

/** Writes `file` in one step: it has all that `write` gave to the sink, or is unchanged if `write` rejects. */
export const writeWhole = async (
  file: string,
  write: (sink: WriteStream) => Promise<void>,
  { isDurable = true }: { isDurable?: boolean } = {},
): Promise<void> => {
  const part = `${file}.part`;
  try {
    await write(createWriteStream(part, { flush: isDurable }));
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  if (isDurable) await syncToDisk(dirname(file));
};

export const sumOf = async (file: string): Promise<string> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
};
