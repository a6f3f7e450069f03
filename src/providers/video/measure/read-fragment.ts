import { DoubtfulFilm, readChildren, readVersion } from './boxes.ts';
import type { Span } from './sample-table.ts';

/** The state of reading a track of a fragmented film. */
export interface FragmentedTrack {
  /** Duration of samples whose fragment has none, from the film's header. */
  defaultDuration: number;
  span: Span;
  /** Start of the next fragment that has none of its own. */
  next: number;
  /** Start of the sample read last. */
  last: number;
  samples: number;
}

const maxFragmentSamples = 500_000;

/** Adds the samples of a `moof` to the tracks, by their ids. */
export const readFragment = (body: Buffer, tracks: ReadonlyMap<number, FragmentedTrack>): void => {
  for (const traf of readChildren(body, [], ['traf']).all('traf')) {
    const boxes = readChildren(traf, ['tfhd', 'tfdt'], ['trun']);
    const head = boxes.get('tfhd');
    const track = tracks.get(head.readUInt32BE(4));
    if (track === undefined) throw new DoubtfulFilm('a fragment of no track');
    const duration = defaultDurationOf(head) ?? track.defaultDuration;
    const start = boxes.find('tfdt');
    if (start !== null)
      track.next = readVersion(start) === 1 ? Number(start.readBigUInt64BE(4)) : start.readUInt32BE(4);
    for (const run of boxes.all('trun')) readRun(run, track, duration);
  }
};

const defaultDurationOf = (head: Buffer): number | null => {
  const flags = head.readUInt32BE(0);
  if ((flags & 0x8) === 0) return null;
  return head.readUInt32BE(8 + ((flags & 0x1) === 0 ? 0 : 8) + ((flags & 0x2) === 0 ? 0 : 4));
};

const readRun = (run: Buffer, track: FragmentedTrack, defaultDuration: number): void => {
  const flags = run.readUInt32BE(0);
  const has = (flag: number): boolean => (flags & flag) !== 0;
  const count = run.readUInt32BE(4);
  track.samples += count;
  if (track.samples > maxFragmentSamples) throw new DoubtfulFilm('too many samples');
  let at = 8 + (has(0x1) ? 4 : 0) + (has(0x4) ? 4 : 0);
  for (let index = 0; index < count; index += 1) {
    if (track.next <= track.last) track.span.isCertain = false;
    track.last = track.next;
    let duration = defaultDuration;
    if (has(0x100)) {
      duration = run.readUInt32BE(at);
      at += 4;
    }
    at += (has(0x200) ? 4 : 0) + (has(0x400) ? 4 : 0);
    let shown = track.next;
    if (has(0x800)) {
      shown += run.readInt32BE(at);
      at += 4;
    }
    track.next += duration;
    track.span.total += duration;
    track.span.first = Math.min(track.span.first, shown);
    track.span.end = Math.max(track.span.end, shown + duration);
    track.span.longest = Math.max(track.span.longest, duration);
  }
};
