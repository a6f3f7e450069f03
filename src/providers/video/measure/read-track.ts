import { DoubtfulFilm, readChildren, readDuration, readTimes, readVersion } from './boxes.ts';
import { readSampleTable, type Span } from './sample-table.ts';

export interface Track {
  id: number;
  isPicture: boolean;
  /** Units of the track's time in a second. */
  timescale: number;
  /** The part of the track that plays, after a delay. Null: the whole track plays. */
  edit: {
    /** Time before it begins, in seconds. */
    delay: number;
    /** Begin, in the track's time. */
    from: number;
    /** Length in seconds; 0: to the end. */
    seconds: number;
  } | null;
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
  const head = boxes.get('tkhd');
  const idAt = readVersion(head) === 1 ? 20 : 12;
  const media = readChildren(boxes.get('mdia'), ['mdhd', 'hdlr', 'minf']);
  const edits = boxes.find('edts');
  const list = edits === null ? null : readChildren(edits, ['elst']).find('elst');
  const tables = readChildren(media.get('minf'), ['stbl']);
  const { timescale, durationSeconds } = readTimes(media.get('mdhd'));
  return {
    id: head.readUInt32BE(idAt),
    isPicture: media.get('hdlr').toString('latin1', 8, 12) === 'vide',
    timescale,
    edit: list === null ? null : readEdit(list, movieTimescale),
    span: readSampleTable(tables.get('stbl')),
    claimedSeconds: readDuration(head, idAt + 8) / movieTimescale,
    claimedMediaSeconds: durationSeconds,
  };
};

/** Reads a list of empty edits and then one edit, at the normal rate. Players differ about any other list. */
const readEdit = (body: Buffer, movieTimescale: number): Track['edit'] => {
  const isLong = readVersion(body) === 1;
  const numberBytes = isLong ? 8 : 4;
  const editBytes = 2 * numberBytes + 4;
  const count = body.readUInt32BE(4);
  if (count > maxEdits) throw new DoubtfulFilm('too many edits');
  // FFmpeg reads all edits in the box.
  if (count !== Math.floor((body.length - 8) / editBytes))
    throw new DoubtfulFilm('edits that are not counted');
  let delay = 0;
  for (let index = 0; index < count; index += 1) {
    const at = 8 + index * editBytes;
    const seconds = readDuration(body, at) / movieTimescale;
    const fromAt = at + numberBytes;
    const from = isLong ? Number(body.readBigInt64BE(fromAt)) : body.readInt32BE(fromAt);
    if (body.readUInt32BE(fromAt + numberBytes) !== normalRate)
      throw new DoubtfulFilm('an edit at another rate');
    const isLast = index === count - 1;
    if (from === -1 && !isLast) delay += seconds;
    else if (from >= 0 && isLast) return { delay, from, seconds };
    else throw new DoubtfulFilm('several edits');
  }
  return null;
};
