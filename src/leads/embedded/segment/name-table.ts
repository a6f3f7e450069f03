import type { DatabaseSync } from 'node:sqlite';
import { usernameKey } from '../../query/username-key.ts';
import { createGrowingRows } from './growing-rows.ts';
import { bucketNames, seal, sealNames, unseal } from './segment-format.ts';

/*
 * Finds the possible rows of a username by a hash of 32 bits. A bucket has the hash and the row of each of its
 * profiles, and is read whole. Different usernames may have one hash, so the caller must check the profile.
 */

/** Collects the names of all rows, eight bytes each, and writes them to `names`. */
export const createNameWriter = (database: DatabaseSync) => {
  const hashes = createGrowingRows(4096);
  return {
    add: (username: string): void => hashes.push(hashOf(username)),
    end: (): void => {
      const all = hashes.view();
      const buckets = bucketsFor(all.length);
      const starts = new Uint32Array(buckets + 1);
      for (const hash of all) {
        const next = (hash % buckets) + 1;
        starts[next] = (starts[next] ?? 0) + 1;
      }
      for (let bucket = 0; bucket < buckets; bucket += 1)
        starts[bucket + 1] = (starts[bucket + 1] ?? 0) + (starts[bucket] ?? 0);
      const ends = starts.slice();
      const rows = new Uint32Array(all.length);
      for (let row = 0; row < all.length; row += 1) {
        const bucket = (all[row] ?? 0) % buckets;
        const end = ends[bucket] ?? 0;
        rows[end] = row;
        ends[bucket] = end + 1;
      }
      const insert = database.prepare('INSERT INTO names VALUES (?, ?)');
      for (let bucket = 0; bucket < buckets; bucket += 1) {
        const entries = new Uint32Array(
          Array.from(rows.subarray(starts[bucket], starts[bucket + 1]), (row) => [all[row] ?? 0, row]).flat(),
        );
        insert.run(bucket, seal(new Uint8Array(entries.buffer), sealNames.names(bucket)));
      }
    },
  };
};

/** Returns a function that gives the possible rows of a username. */
export const createNameReader = (
  database: DatabaseSync,
  { profiles }: { profiles: number },
): ((username: string) => number[]) => {
  const read = database.prepare('SELECT data FROM names WHERE bucket = ?');
  const buckets = bucketsFor(profiles);
  return (username) => {
    const hash = hashOf(username);
    const bucket = hash % buckets;
    const bytes = unseal(read.get(bucket)?.['data'], sealNames.names(bucket));
    const entries = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const rows: number[] = [];
    for (let offset = 0; offset < bytes.byteLength; offset += 8)
      if (entries.getUint32(offset, true) === hash) rows.push(entries.getUint32(offset + 4, true));
    return rows;
  };
};

const bucketsFor = (profiles: number): number => Math.max(1, Math.ceil(profiles / bucketNames));

/** FNV-1a over the units of the username's key. */
const hashOf = (username: string): number => {
  const key = usernameKey(username);
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1)
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  return hash >>> 0;
};
