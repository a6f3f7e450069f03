import { crc32 } from 'node:zlib';

/*
 * A segment is an immutable SQLite file with profiles and inverted lists. Profiles are numbered from 0 in result order.
 * The lists contain these numbers, called rows. So the first rows of a list are the first results, and a range of
 * followers is a range of rows.
 *
 * - `profiles`: each row's profile as JSON; NULL after it was erased.
 * - `followers`: the followers of each row, to find the rows of a range.
 * - `dictionary`: all terms (index-terms.ts) in UTF-16 order, in blocks. `dictionary_starts` has the first term of each
 *   block and is held in memory. Few rows of a term are stored in its block, more in `lists`.
 * - `lists`: rows of a term or of a prefix. A short list is one blob. A long one has a part for each chunk of 65,536
 *   rows, as 16-bit numbers or a bitmap, in groups (list-groups.ts).
 * - `prefixes`: for every prefix with too many terms or rows to merge at query time, the lists whose union is its rows.
 *   A prefix that is not here is known to be light.
 * - `names`: rows by a hash of the username, in buckets.
 *
 * Every blob ends with the CRC-32 of its name and content; a profile has it in its own column. SQLite itself detects
 * few kinds of damage, and never two exchanged rows.
 */

/** Increase with every change to the tables or to the terms. */
export const segmentFormat = 2;

export interface SegmentHead {
  format: number;
  /** The version of the folding of the terms (fold-text.ts), which begins with the version of Unicode. */
  unicode: string;
  profiles: number;
  blocks: number;
  shape: SegmentShape;
}

/** Most reads are blobs of 16 KiB and more. */
export const schema = `
  PRAGMA page_size = 16384;
  CREATE TABLE segment (head BLOB) STRICT;
  CREATE TABLE profiles (row INTEGER PRIMARY KEY, crc INTEGER NOT NULL, lead BLOB) STRICT;
  CREATE TABLE followers (block INTEGER PRIMARY KEY, data BLOB) STRICT;
  CREATE TABLE dictionary (block INTEGER PRIMARY KEY, data BLOB) STRICT;
  CREATE TABLE dictionary_starts (block INTEGER PRIMARY KEY, term BLOB) STRICT;
  CREATE TABLE lists (id INTEGER PRIMARY KEY, data BLOB) STRICT;
  CREATE TABLE prefixes (prefix TEXT PRIMARY KEY, lists BLOB) STRICT, WITHOUT ROWID;
  CREATE TABLE names (bucket INTEGER PRIMARY KEY, data BLOB) STRICT;`;

/** Limits between the forms of storage. Each file stores its own, under these names, so the defaults may change. */
export interface SegmentShape {
  /** Rows per chunk, a multiple of 32. A position in a chunk has at most 16 bits. */
  chunkRows: number;
  blockTerms: number;
  /** Up to this many rows are stored in the dictionary itself. */
  mostInlineRows: number;
  /** Up to this many rows a list is one blob. */
  mostShortRows: number;
  /** The first group of a long list has up to this many bytes; each later group has twice as many. */
  groupBytes: number;
  mostGroupBytes: number;
  /** A prefix with more terms, or with more rows in all of them, gets its own lists. */
  mostPrefixTerms: number;
  mostPrefixRows: number;
  /** The most lists whose union is a prefix. */
  mostPrefixLists: number;
}

export const usualShape: SegmentShape = {
  chunkRows: 65_536,
  blockTerms: 128,
  mostInlineRows: 32,
  mostShortRows: 8_192,
  groupBytes: 16_384,
  mostGroupBytes: 131_072,
  mostPrefixTerms: 512,
  mostPrefixRows: 2_048,
  mostPrefixLists: 4,
};

/** The average number of profiles in a bucket of names. */
export const bucketNames = 256;
export const maxRows = 2 ** 31;

/** A list and its number of rows, which determines its form. */
export interface ListRef {
  list: number;
  count: number;
}

/** The ids that one list may use in `lists`: its head, then its groups of chunks. */
const listSpan = 2 ** 17;

export const listHeadId = (list: number): number => list * listSpan;
export const listGroupId = (list: number, group: number): number => list * listSpan + 1 + group;

/** The names under which blobs are sealed. */
export const sealNames = {
  head: 'the head',
  followers: (block: number) => `block ${block} of the followers`,
  dictionary: (block: number) => `block ${block} of the dictionary`,
  start: (block: number) => `the first term of block ${block}`,
  list: (id: number) => `blob ${id} of the lists`,
  prefix: (prefix: string) => `the prefix ${prefix}`,
  names: (bucket: number) => `bucket ${bucket} of the names`,
};

/** Replaces the checksum of an erased profile. */
export const erasedCrc = 0;

/** Returns the checksum of a profile in its row. In another row it counts as damaged. */
export const profileCrc = (lead: Uint8Array, row: number): number => crc32(lead, row);

/** The file is not as it was written, or is not a segment of this format. */
export class SegmentDamagedError extends Error {
  override readonly name = 'SegmentDamagedError';
}

/**
 * Appends a checksum of the bytes and their name, such as `block 3 of the dictionary`. Under another name they count as
 * damaged.
 */
export const seal = (bytes: Uint8Array, name: string): Uint8Array => {
  const sealed = new Uint8Array(bytes.length + 4);
  sealed.set(bytes);
  new DataView(sealed.buffer).setUint32(bytes.length, crc32(bytes, crc32(name)), true);
  return sealed;
};

/** Returns the bytes sealed under `name`. Throws SegmentDamagedError for any other content. */
export const unseal = (value: unknown, name: string): Uint8Array => {
  if (!(value instanceof Uint8Array) || value.length < 4) throw new SegmentDamagedError(`${name} is missing`);
  const bytes = value.subarray(0, value.length - 4);
  const expected = new DataView(value.buffer, value.byteOffset + bytes.length, 4).getUint32(0, true);
  if (crc32(bytes, crc32(name)) !== expected) throw new SegmentDamagedError(`${name} is damaged`);
  return bytes;
};
