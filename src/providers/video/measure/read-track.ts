import { child, DoubtfulFilm, findChild, readChildren, readDuration, readVersion } from './boxes.ts';
import { readSampleTable, type Span } from './sample-table.ts';

/** The part of a track that plays, after a delay. */
interface Edit {
  /** Time before it begins, in seconds. */
  delay: number;
  /** Begin, in the track's time. */
  from: number;
  /** Length in seconds; 0: to the end. */
  seconds: number;
}

export interface Track {
  id: number;
  isPicture: boolean;
  /** Units of the track's time in a second. */
  timescale: number;
  /** Null: the whole track plays. */
  edit: Edit | null;
  /** Span of the samples in the table; null when it has none. */
  span: Span | null;
  /** Play time by its header; 0 where it has none. */
  claimedSeconds: number;
  /** Length of its samples without edits, by the header of its media; 0 where it has none. */
  claimedMediaSeconds: number;
}

const normalRate = 0x1_0000;
const maxEdits = 100;

/** Reads the body of a `trak`. */
export const readTrack = (body: Buffer, movieTimescale: number): Track => {
  const boxes = readChildren(body, ['tkhd', 'edts', 'mdia']);
  const head = child(boxes, 'tkhd');
  const version = readVersion(head);
  const idAt = version === 1 ? 20 : 12;
  const media = readChildren(child(boxes, 'mdia'), ['mdhd', 'hdlr', 'minf']);
  const edits = findChild(boxes, 'edts');
  const list = edits === null ? null : findChild(readChildren(edits, ['elst']), 'elst');
  const tables = readChildren(child(media, 'minf'), ['stbl']);
  const mediaHead = child(media, 'mdhd');
  const timescale = readTimescale(mediaHead);
  const mediaVersion = readVersion(mediaHead);
  const claimedMedia = readDuration(mediaHead, mediaVersion === 1 ? 24 : 16, mediaVersion) ?? 0;
  return {
    id: head.readUInt32BE(idAt),
    isPicture: child(media, 'hdlr').toString('latin1', 8, 12) === 'vide',
    timescale,
    edit: list === null ? null : readEdit(list, movieTimescale),
    span: readSampleTable(child(tables, 'stbl')),
    claimedSeconds: (readDuration(head, idAt + 8, version) ?? 0) / movieTimescale,
    claimedMediaSeconds: claimedMedia / timescale,
  };
};

/** Reads the units in a second from an `mdhd` or `mvhd`. */
export const readTimescale = (body: Buffer): number => {
  const timescale = body.readUInt32BE(readVersion(body) === 1 ? 20 : 12);
  // Some players read larger values as negative.
  if (timescale === 0 || timescale > 0x7fff_ffff) throw new DoubtfulFilm('a timescale of 0, or too large');
  return timescale;
};

/** Reads a list of empty edits and then one edit, at the normal rate. Players differ about any other list. */
const readEdit = (body: Buffer, movieTimescale: number): Edit | null => {
  const version = readVersion(body);
  const numberBytes = version === 1 ? 8 : 4;
  const editBytes = 2 * numberBytes + 4;
  const count = body.readUInt32BE(4);
  if (count > maxEdits) throw new DoubtfulFilm('too many edits');
  // FFmpeg reads all edits in the box.
  if (count !== Math.floor((body.length - 8) / editBytes))
    throw new DoubtfulFilm('edits that are not counted');
  let delay = 0;
  for (let index = 0; index < count; index += 1) {
    const at = 8 + index * editBytes;
    const seconds = (readDuration(body, at, version) ?? 0) / movieTimescale;
    const fromAt = at + numberBytes;
    const from = version === 1 ? Number(body.readBigInt64BE(fromAt)) : body.readInt32BE(fromAt);
    if (body.readUInt32BE(fromAt + numberBytes) !== normalRate)
      throw new DoubtfulFilm('an edit at another rate');
    const isLast = index === count - 1;
    if (from === -1 && !isLast) delay += seconds;
    else if (from >= 0 && isLast) return { delay, from, seconds };
    else throw new DoubtfulFilm('several edits');
  }
  return null;
};
