import type { DatabaseSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';
import { createByteReader } from './byte-reader.ts';
import { groupLimit, isBitmap, partBytes } from './list-groups.ts';
import {
  listGroupId,
  listHeadId,
  SegmentDamagedError,
  sealNames,
  unseal,
  type ListRef,
  type SegmentShape,
} from './segment-format.ts';

/** A chunk's part of a long list: ascending positions, or a bitmap of them. */
export type ChunkPart = { places: Uint16Array; words: null } | { places: null; words: Uint32Array };

/** A list that is read chunk by chunk. */
export interface LongList {
  readonly sizes: Uint32Array;
  /** Only for a chunk that has rows. */
  part(chunk: number): ChunkPart;
}

/** Opens a list. A short one is read completely. */
export type OpenList = (ref: ListRef) => { rows: Uint32Array; long: null } | { rows: null; long: LongList };

export const createOpenList = (database: DatabaseSync, shape: SegmentShape): OpenList => {
  const { chunkRows, mostShortRows } = shape;
  const read = database.prepare('SELECT data FROM lists WHERE id = ?');
  const blob = (id: number): Uint8Array => unseal(read.get(id)?.['data'], sealNames.list(id));
  const layouts = new LRUCache<number, Layout>({
    maxSize: keptLayoutBytes,
    sizeCalculation: ({ sizes }) => 1 + sizes.length * layoutBytes,
    memoMethod: (list) => placeParts(new Uint32Array(blob(listHeadId(list)).slice().buffer), shape),
  });
  const keptGroups = new LRUCache<number, Uint8Array>({
    maxSize: keptGroupBytes,
    sizeCalculation: ({ buffer }) => 1 + buffer.byteLength,
  });

  const openLong = (list: number): LongList => {
    const { sizes, groups, starts, bytes } = layouts.memo(list);
    const readGroup = (id: number): Uint8Array => {
      const found = blob(id);
      if (found.length !== bytes[id - listGroupId(list, 0)])
        throw new SegmentDamagedError(`list ${list} is damaged`);
      const aligned = found.byteOffset % 4 === 0 ? found : found.slice();
      keptGroups.set(id, aligned);
      return aligned;
    };
    let current: Uint8Array | null = null;
    let currentGroup = -1;
    const part = (chunk: number): ChunkPart => {
      const group = groups[chunk] ?? 0;
      if (current === null || group !== currentGroup) {
        const id = listGroupId(list, group);
        current = keptGroups.get(id) ?? readGroup(id);
        currentGroup = group;
      }
      const start = current.byteOffset + (starts[chunk] ?? 0);
      const size = sizes[chunk] ?? 0;
      return isBitmap(size, chunkRows)
        ? { places: null, words: new Uint32Array(current.buffer, start, chunkRows / 32) }
        : { places: new Uint16Array(current.buffer, start, size), words: null };
    };
    return { sizes, part };
  };

  return ({ list, count }) =>
    count <= mostShortRows
      ? { rows: createByteReader(blob(listHeadId(list))).ascending(count), long: null }
      : { rows: null, long: openLong(list) };
};

/** A long list's layout: per chunk the number of rows, the group and the offset in it; per group the bytes. */
interface Layout {
  sizes: Uint32Array;
  groups: Uint16Array;
  starts: Uint32Array;
  bytes: number[];
}

const placeParts = (sizes: Uint32Array, shape: SegmentShape): Layout => {
  const { chunkRows } = shape;
  const groups = new Uint16Array(sizes.length);
  const starts = new Uint32Array(sizes.length);
  const bytes: number[] = [];
  let group = 0;
  let start = 0;
  let limit = groupLimit(group, shape);
  for (let chunk = 0; chunk < sizes.length; chunk += 1) {
    if (start >= limit) {
      bytes.push(start);
      group += 1;
      start = 0;
      limit = groupLimit(group, shape);
    }
    groups[chunk] = group;
    starts[chunk] = start;
    start += partBytes(sizes[chunk] ?? 0, chunkRows);
  }
  bytes.push(start);
  return { sizes, groups, starts, bytes };
};

/** Estimate per chunk. */
const layoutBytes = 12;
/** Per open segment: enough for the lists of filters and of the most frequent words at a few million profiles. */
const keptLayoutBytes = 8 * 1024 * 1024;
const keptGroupBytes = 64 * 1024 * 1024;
