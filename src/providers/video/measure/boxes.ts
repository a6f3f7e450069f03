import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { VideoSource } from '../measure-video.ts';

/** The bytes of a film, read on demand. Reading blocks on the disk, so it belongs in a thread. */
export interface FilmBytes {
  size: number;
  /** Returns fewer bytes at the end of the film. */
  read(start: number, length: number): Buffer;
  close(): void;
}

export const openBytes = (source: VideoSource): FilmBytes => {
  if (typeof source !== 'string') {
    const bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
    return {
      size: bytes.length,
      read: (start, length) => bytes.subarray(start, start + length),
      close: () => {},
    };
  }
  const file = openSync(source, 'r');
  return {
    size: fstatSync(file).size,
    read: (start, length) => {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(file, bytes, 0, length, start));
    },
    close: () => closeSync(file),
  };
};

/** An error for a film that players may read in different ways, so that its length is uncertain. */
export class DoubtfulFilm extends Error {
  override readonly name = 'DoubtfulFilm';
}

/** Boxes that tell when samples play. Each is read in its one place and refused elsewhere. */
const timing = [
  ...['moov', 'cmov', 'mvhd', 'trak', 'tkhd', 'edts', 'elst', 'mdia', 'mdhd', 'minf', 'stbl'],
  ...['stts', 'ctts', 'stsz', 'stz2', 'stsc', 'stco', 'co64'],
  ...['mvex', 'trex', 'mehd', 'moof', 'traf', 'tfhd', 'tfdt', 'trun'],
];
/** Boxes that no player reads. They often hold boxes that an editor has removed. */
const unused = new Set(['free', 'skip', 'wide']);
/** Boxes in which FFmpeg looks for any other, wherever they stand; it takes a `hoov` for a `moov`. */
const opened = ['udta', 'meta', 'ilst', 'dinf', 'tref', 'schi', 'sinf', 'wave', 'stsd', 'iprp', 'hoov'];
const maxChildren = 1_000;

export const isTiming = (name: string): boolean => timing.includes(name);

export const isOpened = (name: string): boolean => opened.includes(name);

/** Reads a header from at least 8 bytes, or 16 for a size of 64 bits. A size of 0 means: up to the end of the file. */
export const readBoxHeader = (bytes: Buffer): { name: string; headerBytes: number; size: number } => {
  const short = bytes.readUInt32BE(0);
  const name = bytes.toString('latin1', 4, 8);
  return short === 1
    ? { name, headerBytes: 16, size: Number(bytes.readBigUInt64BE(8)) }
    : { name, headerBytes: 8, size: short };
};

interface Box {
  name: string;
  body: Buffer;
}

/** Yields the boxes in a body. Throws DoubtfulFilm when they do not fit. */
const boxesIn = function* (body: Buffer): Generator<Box, void, undefined> {
  for (let at = 0, count = 0; body.length - at >= 8; count += 1) {
    const { name, headerBytes, size } = readBoxHeader(body.subarray(at, at + 16));
    if (size < headerBytes || size > body.length - at || count === maxChildren)
      throw new DoubtfulFilm('the boxes do not fit');
    yield { name, body: body.subarray(at + headerBytes, at + size) };
    at += size;
  }
};

/**
 * Reads the boxes of these names in a body. Throws DoubtfulFilm when boxes do not fit, when a box that is not in
 * `repeated` comes twice, and when another box is, or may contain, one that tells when samples play.
 */
export const readChildren = (body: Buffer, names: readonly string[], repeated: readonly string[] = []) => {
  const found = new Map<string, Buffer[]>();
  for (const box of boxesIn(body)) {
    const { name } = box;
    const known = found.get(name);
    if (!names.includes(name) && !repeated.includes(name)) assertHarmless(box);
    else if (known === undefined) found.set(name, [box.body]);
    else if (repeated.includes(name)) known.push(box.body);
    else throw new DoubtfulFilm(`${name} comes twice`);
  }
  const find = (name: string): Buffer | null => found.get(name)?.[0] ?? null;
  return {
    find,
    /** Throws DoubtfulFilm when there is none. */
    get: (name: string): Buffer => {
      const box = find(name);
      if (box === null) throw new DoubtfulFilm(`there is no ${name}`);
      return box;
    },
    all: (name: string): Buffer[] => found.get(name) ?? [],
  };
};

/**
 * Throws DoubtfulFilm for a box that tells when samples play, and for one in which a player may find such a box. Titles
 * and similar texts are in known places and are not searched.
 */
export const assertHarmless = ({ name, body }: Box): void => {
  if (isTiming(name)) throw new DoubtfulFilm(`${name} is out of place`);
  if (unused.has(name)) return;
  if (name === 'udta') assertMetadata(body, (item) => item.startsWith('\u00a9'));
  else if (name === 'meta' && body.toString('latin1', 8, 12) === 'hdlr')
    // A version comes before the boxes. QuickTime's own form has none.
    assertMetadata(body.subarray(4), () => false);
  else if (name === 'ilst') assertMetadata(body, (item) => !isOpened(item));
  else if (timing.some((hidden) => body.includes(hidden, 0, 'latin1')))
    throw new DoubtfulFilm(`${name} may hold a table`);
};

const assertMetadata = (body: Buffer, isText: (name: string) => boolean): void => {
  for (const box of boxesIn(body)) if (isTiming(box.name) || !isText(box.name)) assertHarmless(box);
};

/** Reads the version of a box. Throws DoubtfulFilm unless it is 0 or 1. */
export const readVersion = (body: Buffer): 0 | 1 => {
  const version = body.readUInt8(0);
  if (version !== 0 && version !== 1) throw new DoubtfulFilm(`a box of version ${version}`);
  return version;
};

/** Reads a number of 4 bytes, or of 8 in version 1 of a box. 0 when all bits are set, which means unknown. */
export const readDuration = (body: Buffer, at: number): number => {
  const isLong = readVersion(body) === 1;
  const value = isLong ? body.readBigUInt64BE(at) : BigInt(body.readUInt32BE(at));
  return value === (isLong ? 0xffff_ffff_ffff_ffffn : 0xffff_ffffn) ? 0 : Number(value);
};

/** Reads the units in a second and the length from an `mdhd` or `mvhd`. */
export const readTimes = (body: Buffer): { timescale: number; durationSeconds: number } => {
  const at = readVersion(body) === 1 ? 20 : 12;
  const timescale = body.readUInt32BE(at);
  // Some players read larger values as negative.
  if (timescale === 0 || timescale > 0x7fff_ffff) throw new DoubtfulFilm('a timescale of 0, or too large');
  return { timescale, durationSeconds: readDuration(body, at + 4) / timescale };
};
