import { crc32 } from 'node:zlib';

/*
 * A segment is an immutable SQLite file with some profiles and the inverted lists to find them by. Profiles are
 * numbered from 0 in the order of results; these numbers, "rows", are what the lists hold, so that the first rows of a
 * list are the first results, and a range of followers is a range of rows.
 *
 * - `profiles`: each row's profile, as JSON; NULL once it was erased.
 * - `followers`: how many each row has, to find the rows of a range.
 * - `dictionary`: all terms (index-terms.ts), in the order of UTF-16 units, in blocks; `dictionary_starts` has the first
 *   term of each, and is held in memory. A term's rows stand in its block when they are few, else in `lists`.
 * - `lists`: rows of a term or of a prefix. A short list is one blob; a long one has a part for each chunk of 65,536
 *   rows, of 16-bit numbers or a bitmap, in groups (list-groups.ts).
 * - `prefixes`: the lists whose union is what begins so, for every beginning that has too many terms or rows to be put
 *   together at query time. A beginning that is not there is known to be light.
 * - `names`: rows by a hash of the username, in buckets.
 *
 * Every blob but a profile, which has it beside it, ends with the CRC-32 of its name and of what comes before it: SQLite
 * itself notices few kinds of damage, and none that exchanges two rows.
 */

/** Raised with every change to the tables or to the terms. */
export const segmentFormat = 2;

/** What `segment` has, as JSON. */
export interface SegmentHead {
  format: number;
  /** The version of the folding that made the terms (fold-text.ts), which begins with that of Unicode. */
  unicode: string;
  profiles: number;
  /** Blocks of the dictionary. */
  blocks: number;
  shape: SegmentShape;
}

/** Blobs of 16 KiB and more are most of what is read. */
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

/** Where one form of storing ends and the next begins; a file has its own, so that these may change. */
export interface SegmentShape {
  /** Rows of a chunk; a row's place in its chunk has at most 16 bits. A multiple of 32. */
  chunkRows: number;
  /** Terms of a block of the dictionary. */
  blockTerms: number;
  /** Up to so many rows stand in the dictionary itself. */
  mostInlineRows: number;
  /** Up to so many rows a list is one blob. */
  mostShortRows: number;
  /** The first parts of a long list are stored together until they have so many bytes, later ones until twice as many. */
  groupBytes: number;
  mostGroupBytes: number;
  /** A beginning with more terms than this, or with more rows in all of them, gets lists of its own. */
  mostPrefixTerms: number;
  mostPrefixRows: number;
  /** The lists that together are what begins with a prefix, at most. */
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

/** Profiles in a bucket of names, about. */
export const bucketNames = 256;
export const mostRows = 2 ** 31;

/** A list and how many rows it has, which tells its form. */
export interface ListRef {
  list: number;
  count: number;
}

/** The ids that one list may take in `lists`: its head, then its groups of chunks. */
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

/** In place of the checksum of a profile that was erased. */
export const erasedCrc = 0;

/** The checksum of a row's profile, which is damaged in the place of another row's. */
export const profileCrc = (lead: Uint8Array, row: number): number => crc32(lead, row);

/** The file is not as it was written, or was never a segment of this format. */
export class SegmentDamagedError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SegmentDamagedError';
  }
}

/**
 * `bytes` with a checksum behind them, of them and of their name, such as `block 3 of the dictionary`: under another
 * name they are damaged.
 */
export const seal = (bytes: Uint8Array, name: string): Uint8Array => {
  const sealed = new Uint8Array(bytes.length + 4);
  sealed.set(bytes);
  new DataView(sealed.buffer).setUint32(bytes.length, crc32(bytes, crc32(name)), true);
  return sealed;
};

/** What was sealed under that name. Throws SegmentDamagedError when it is anything else. */
export const unseal = (value: unknown, name: string): Uint8Array => {
  if (!(value instanceof Uint8Array) || value.length < 4) throw new SegmentDamagedError(`${name} is missing`);
  const bytes = value.subarray(0, value.length - 4);
  const expected = new DataView(value.buffer, value.byteOffset + bytes.length, 4).getUint32(0, true);
  if (crc32(bytes, crc32(name)) !== expected) throw new SegmentDamagedError(`${name} is damaged`);
  return bytes;
};
