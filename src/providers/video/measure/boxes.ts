export interface Box {
  name: string;
  body: Buffer;
}

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
const maxChildren = 1_000;

interface BoxHeader {
  name: string;
  headerBytes: number;
  /** Size with the header; 0: up to the end of the file. */
  size: number;
}

/** Reads a header from at least 8 bytes, or 16 for a size of 64 bits. */
export const readBoxHeader = (bytes: Buffer): BoxHeader => {
  const short = bytes.readUInt32BE(0);
  const name = bytes.toString('latin1', 4, 8);
  return short === 1
    ? { name, headerBytes: 16, size: Number(bytes.readBigUInt64BE(8)) }
    : { name, headerBytes: 8, size: short };
};

/**
 * Returns the boxes of these names in a body. Throws DoubtfulFilm when boxes do not fit, when a box that is not in
 * `repeated` comes twice, and when another box is, or may contain, one that tells when samples play.
 */
export const readChildren = (
  body: Buffer,
  names: readonly string[],
  repeated: readonly string[] = [],
): Box[] => {
  const children: Box[] = [];
  for (let at = 0, count = 0; body.length - at >= 8; count += 1) {
    const { name, headerBytes, size } = readBoxHeader(body.subarray(at, at + 16));
    if (size < headerBytes || size > body.length - at || count === maxChildren)
      throw new DoubtfulFilm('the boxes do not fit');
    const child = { name, body: body.subarray(at + headerBytes, at + size) };
    if (repeated.includes(name)) children.push(child);
    else if (names.includes(name)) {
      if (findChild(children, name) !== null) throw new DoubtfulFilm(`${name} comes twice`);
      children.push(child);
    } else assertHarmless(child);
    at += size;
  }
  return children;
};

/**
 * Throws DoubtfulFilm for a box that tells when samples play, and for one in which a player may find such a box. Titles
 * and similar texts are in known places and are not searched.
 */
const assertHarmless = ({ name, body }: Box): void => {
  if (isTiming(name)) throw new DoubtfulFilm(`${name} is out of place`);
  if (unused.has(name)) return;
  if (name === 'udta') assertMetadata(body, (item) => item.name.startsWith('\u00a9'));
  else if (name === 'meta' && body.toString('latin1', 8, 12) === 'hdlr')
    // A version comes before the boxes. QuickTime's own form has none.
    assertMetadata(body.subarray(4), () => false);
  else if (name === 'ilst') assertMetadata(body, () => true);
  else if (timing.some((hidden) => body.includes(hidden, 0, 'latin1')))
    throw new DoubtfulFilm(`${name} may hold a table`);
};

const assertMetadata = (body: Buffer, isText: (box: Box) => boolean): void => {
  for (let at = 0, count = 0; body.length - at >= 8; count += 1) {
    const { name, headerBytes, size } = readBoxHeader(body.subarray(at, at + 16));
    if (size < headerBytes || size > body.length - at || count === maxChildren)
      throw new DoubtfulFilm('the boxes do not fit');
    const box = { name, body: body.subarray(at + headerBytes, at + size) };
    if (isTiming(name) || !isText(box)) assertHarmless(box);
    at += size;
  }
};

export const isTiming = (name: string): boolean => timing.includes(name);

export const findChild = (children: readonly Box[], name: string): Buffer | null =>
  children.find((child) => child.name === name)?.body ?? null;

export const child = (children: readonly Box[], name: string): Buffer => {
  const body = findChild(children, name);
  if (body === null) throw new DoubtfulFilm(`there is no ${name}`);
  return body;
};

/** Reads a number of 4 bytes, or of 8 in version 1 of a box. Null when all bits are set, which means unknown. */
export const readDuration = (body: Buffer, at: number, version: number): number | null => {
  const value = version === 1 ? body.readBigUInt64BE(at) : BigInt(body.readUInt32BE(at));
  return value === (version === 1 ? 0xffff_ffff_ffff_ffffn : 0xffff_ffffn) ? null : Number(value);
};

/** Reads the version of a box. Throws DoubtfulFilm unless it is 0 or 1. */
export const readVersion = (body: Buffer): 0 | 1 => {
  const version = body.readUInt8(0);
  if (version !== 0 && version !== 1) throw new DoubtfulFilm(`a box of version ${version}`);
  return version;
};
