import type { DatabaseSync } from 'node:sqlite';
import { createByteWriter } from './byte-writer.ts';
import { groupLimit, isBitmap, partBytes } from './list-groups.ts';
import { lowerBound } from './lower-bound.ts';
import {
  listGroupId,
  listHeadId,
  seal,
  sealNames,
  type ListRef,
  type SegmentShape,
} from './segment-format.ts';

export type ListWriter = ReturnType<typeof createListWriter>;

export const createListWriter = (
  database: DatabaseSync,
  { profiles, shape }: { profiles: number; shape: SegmentShape },
) => {
  const { chunkRows, mostShortRows } = shape;
  const insert = database.prepare('INSERT INTO lists VALUES (?, ?)');
  const chunks = Math.ceil(profiles / chunkRows);
  const writer = createByteWriter(mostShortRows * 2);
  let count = 0;

  const insertBlob = (id: number, bytes: Uint8Array): void => {
    insert.run(id, seal(bytes, sealNames.list(id)));
  };
  const addShort = (list: number, rows: Uint32Array): void => {
    writer.clear();
    writer.ascending(rows);
    insertBlob(listHeadId(list), writer.view());
  };
  const addLong = (list: number, rows: Uint32Array): void => {
    const sizes = new Uint32Array(chunks);
    let group = 0;
    let start = 0;
    writer.clear();
    const endGroup = (): void => {
      insertBlob(listGroupId(list, group), writer.view());
      group += 1;
      writer.clear();
    };
    for (let chunk = 0; chunk < chunks; chunk += 1) {
      if (writer.length >= groupLimit(group, shape)) endGroup();
      const end = lowerBound(rows, { value: (chunk + 1) * chunkRows, from: start });
      sizes[chunk] = end - start;
      writer.bytes(partOf(rows.subarray(start, end), { first: chunk * chunkRows, chunkRows }));
      start = end;
    }
    endGroup();
    insertBlob(listHeadId(list), bytesOf(sizes));
  };

  return {
    /** Stores `rows`, ascending and distinct, as a new list. */
    add: (rows: Uint32Array): ListRef => {
      const list = count;
      count += 1;
      if (rows.length > mostShortRows) addLong(list, rows);
      else addShort(list, rows);
      return { list, count: rows.length };
    },
  };
};

const partOf = (
  rows: Uint32Array,
  { first, chunkRows }: { first: number; chunkRows: number },
): Uint8Array => {
  const bytes = new Uint8Array(partBytes(rows.length, chunkRows));
  if (!isBitmap(rows.length, chunkRows)) {
    const places = new Uint16Array(bytes.buffer);
    for (let index = 0; index < rows.length; index += 1) places[index] = (rows[index] ?? 0) - first;
    return bytes;
  }
  const words = new Uint32Array(bytes.buffer);
  for (const row of rows) {
    const place = row - first;
    words[place >>> 5] = (words[place >>> 5] ?? 0) | (1 << (place & 31));
  }
  return bytes;
};

const bytesOf = (numbers: Uint32Array): Uint8Array =>
  new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
