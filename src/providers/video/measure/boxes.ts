export interface Box {
  name: string;
  body: Buffer;
}

/** Thrown for a film that players may read in different ways, so that its length is not certain. */
export class DoubtfulFilm extends Error {
  override readonly name = 'DoubtfulFilm';
}

/** Boxes that tell when samples play; each has one place, where it is read. */
const timing = [
  ...['moov', 'cmov', 'mvhd', 'trak', 'tkhd', 'edts', 'elst', 'mdia', 'mdhd', 'minf', 'stbl'],
  ...['stts', 'ctts', 'stsz', 'stz2', 'stsc', 'stco', 'co64'],
  ...['mvex', 'trex', 'mehd', 'moof', 'traf', 'tfhd', 'tfdt', 'trun'],
];
/** Space that nothing reads; it often holds what an editor has struck out. */
const unused = new Set(['free', 'skip', 'wide']);
const mostChildren = 1_000;

interface BoxHeader {
  name: string;
  headerBytes: number;
  /** With the header; 0: up to the end of the file. */
  size: number;
}

/** Of at least 8 bytes, 16 where the size is a long one. */
export const readBoxHeader = (bytes: Buffer): BoxHeader => {
  const short = bytes.readUInt32BE(0);
  const name = bytes.toString('latin1', 4, 8);
  return short === 1
    ? { name, headerBytes: 16, size: Number(bytes.readBigUInt64BE(8)) }
    : { name, headerBytes: 8, size: short };
};

/**
 * The boxes in a body, of these names only. Throws DoubtfulFilm where they do not fit, where one that is not in `repeated`
 * comes twice, and where another box is, or may hide, one that tells of time.
 */
export const readChildren = (
  body: Buffer,
  names: readonly string[],
  repeated: readonly string[] = [],
): Box[] => {
  const children: Box[] = [];
  for (let at = 0, count = 0; body.length - at >= 8; count += 1) {
    const { name, headerBytes, size } = readBoxHeader(body.subarray(at, at + 16));
    if (size < headerBytes || size > body.length - at || count === mostChildren)
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
 * Throws DoubtfulFilm for a box that tells of time, and for one in which a reader may find such a box. Titles and the like
 * are text in places that are known: their words are not looked at.
 */
const assertHarmless = ({ name, body }: Box): void => {
  if (isTiming(name)) throw new DoubtfulFilm(`${name} is out of place`);
  if (unused.has(name)) return;
  if (name === 'udta') assertMetadata(body, (item) => item.name.startsWith('\u00a9'));
  else if (name === 'meta' && body.toString('latin1', 8, 12) === 'hdlr')
    // The version, which QuickTime's own form does not have, stands before its boxes.
    assertMetadata(body.subarray(4), () => false);
  else if (name === 'ilst') assertMetadata(body, () => true);
  else if (timing.some((hidden) => body.includes(hidden, 0, 'latin1')))
    throw new DoubtfulFilm(`${name} may hold a table`);
};

const assertMetadata = (body: Buffer, isText: (box: Box) => boolean): void => {
  for (let at = 0, count = 0; body.length - at >= 8; count += 1) {
    const { name, headerBytes, size } = readBoxHeader(body.subarray(at, at + 16));
    if (size < headerBytes || size > body.length - at || count === mostChildren)
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

/** A number of 4 bytes, or of 8 in version 1 of a box; null where all bits are set, which says "not known". */
export const readDuration = (body: Buffer, at: number, version: number): number | null => {
  const value = version === 1 ? body.readBigUInt64BE(at) : BigInt(body.readUInt32BE(at));
  return value === (version === 1 ? 0xffff_ffff_ffff_ffffn : 0xffff_ffffn) ? null : Number(value);
};

/** 0 or 1; throws DoubtfulFilm for another. */
export const readVersion = (body: Buffer): 0 | 1 => {
  const version = body.readUInt8(0);
  if (version !== 0 && version !== 1) throw new DoubtfulFilm(`a box of version ${version}`);
  return version;
};
