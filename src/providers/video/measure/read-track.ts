import { child, DoubtfulFilm, findChild, readChildren, readDuration, readVersion } from './boxes.ts';
import { readSampleTable, type Span } from './sample-table.ts';

/** One non-empty stretch of a track's time, after so much of nothing. */
interface Edit {
  /** Before it begins, in seconds. */
  delay: number;
  /** Where it begins, in the track's time. */
  from: number;
  /** In seconds; 0: to the end. */
  seconds: number;
}

export interface Track {
  id: number;
  isPicture: boolean;
  /** Of the track's time in a second. */
  timescale: number;
  /** Null: it plays whole. */
  edit: Edit | null;
  /** Of the samples in the table; null when it has none. */
  span: Span | null;
  /** How long it is shown, as its header claims; 0 where it does not. */
  claimedSeconds: number;
  /** How long its samples are, edits aside, as the header of its media claims; 0 where it does not. */
  claimedMediaSeconds: number;
}

const normalRate = 0x1_0000;
const mostEdits = 100;

/** From the body of a `trak`. */
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

/** From an `mdhd`, or an `mvhd`, which begins alike. */
export const readTimescale = (body: Buffer): number => {
  const timescale = body.readUInt32BE(readVersion(body) === 1 ? 20 : 12);
  if (timescale === 0) throw new DoubtfulFilm('time stands still');
  return timescale;
};

/** Empty entries and then one that is not, at the normal rate; players differ about any other list. */
const readEdit = (body: Buffer, movieTimescale: number): Edit | null => {
  const version = readVersion(body);
  const numberBytes = version === 1 ? 8 : 4;
  const count = body.readUInt32BE(4);
  if (count > mostEdits) throw new DoubtfulFilm('too many edits');
  let delay = 0;
  for (let index = 0; index < count; index += 1) {
    const at = 8 + index * (2 * numberBytes + 4);
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
