import {
  child,
  DoubtfulFilm,
  findChild,
  isTiming,
  readBoxHeader,
  readChildren,
  readDuration,
  readVersion,
} from './boxes.ts';
import type { FilmBytes } from './open-bytes.ts';
import { readFragment, type FragmentedTrack } from './read-fragment.ts';
import { readTimescale, readTrack, type Track } from './read-track.ts';
import type { Span } from './sample-table.ts';

/** By so much two players may differ: a picture group that was cut into, a sound's run-up. */
const toleranceSeconds = 1;
const mostBoxes = 50_000;
const mostHeaderBytes = 16 * 1024 ** 2;
/** Of some ten thousand fragments. */
const mostIndexBytes = 512 * 1024;
const mostTracks = 64;
const normalRate = 0x1_0000;

interface Film {
  /** As the header claims; 0 where it does not. */
  claimedSeconds: number;
  tracks: Track[];
  /** By track id; null: the film has no fragments. */
  fragmented: Map<number, FragmentedTrack> | null;
}

/**
 * How long an MP4 or MOV film plays, in seconds, by whichever of its tracks and claims makes it longest. Throws DoubtfulFilm,
 * or RangeError, for a film that another player might show for longer: with both a sample table and fragments, with
 * several edits, with tables that contradict each other or that are out of place.
 */
export const longestReading = (bytes: FilmBytes): number => {
  const film = readFilm(bytes);
  const { claimedSeconds, tracks, fragmented } = film;
  const readings = tracks.map((track) => readingOf(track, fragmented?.get(track.id) ?? null));
  if (Math.min(...readings.map(({ first }) => first)) > toleranceSeconds)
    throw new DoubtfulFilm('it begins with nothing');
  return Math.max(claimedSeconds, ...readings.flatMap(({ end, claimed }) => [end, claimed]));
};

const readFilm = (bytes: FilmBytes): Film => {
  let film: Film | null = null;
  let readBytes = 0;
  for (let at = 0, count = 0; bytes.size - at >= 8; count += 1) {
    if (count === mostBoxes) throw new DoubtfulFilm('too many boxes');
    const { name, headerBytes, size } = readBoxHeader(bytes.read(at, 16));
    const isWhole = size >= headerBytes && size <= bytes.size - at;
    if (isTiming(name)) {
      readBytes += size;
      if (!isWhole || readBytes > mostHeaderBytes)
        throw new DoubtfulFilm('the header is cut off or too long');
      const body = bytes.read(at + headerBytes, size - headerBytes);
      if (name === 'moov' && film === null) film = readMovie(body);
      else if (name === 'moof' && film !== null && film.fragmented !== null)
        readFragment(body, film.fragmented);
      else throw new DoubtfulFilm(`${name} is out of place`);
    }
    // What follows is read by nobody.
    if (!isWhole) break;
    at += size;
  }
  if (film === null) throw new DoubtfulFilm('there is no header');
  if (film.fragmented !== null) assertSmallIndex(bytes);
  return film;
};

/** The table of fragments, which the last number of a file tells the place of. */
const assertSmallIndex = (bytes: FilmBytes): void => {
  const at = bytes.size - bytes.read(bytes.size - 4, 4).readUInt32BE();
  const head = at < 0 ? Buffer.alloc(0) : bytes.read(at, 16);
  if (head.length < 16) return;
  const { name, size } = readBoxHeader(head);
  if (name === 'mfra' && size > mostIndexBytes) throw new DoubtfulFilm('the table of fragments is too long');
};

const readMovie = (body: Buffer): Film => {
  const boxes = readChildren(body, ['mvhd', 'mvex'], ['trak']);
  const head = child(boxes, 'mvhd');
  const version = readVersion(head);
  const timescale = readTimescale(head);
  const durationAt = version === 1 ? 24 : 16;
  const rate = head.readUInt32BE(durationAt + (version === 1 ? 8 : 4));
  if (rate !== normalRate && rate !== 0) throw new DoubtfulFilm('it plays at another rate');
  const tracks = boxes.filter(({ name }) => name === 'trak').map((box) => readTrack(box.body, timescale));
  if (tracks.length > mostTracks || new Set(tracks.map(({ id }) => id)).size !== tracks.length)
    throw new DoubtfulFilm('too many tracks, or two of one id');
  const extension = findChild(boxes, 'mvex');
  if (extension !== null && tracks.some(({ span }) => span !== null))
    throw new DoubtfulFilm('both a sample table and fragments');
  return {
    claimedSeconds: (readDuration(head, durationAt, version) ?? 0) / timescale,
    tracks,
    fragmented: extension === null ? null : readDefaults(extension, tracks),
  };
};

const readDefaults = (extension: Buffer, tracks: readonly Track[]): Map<number, FragmentedTrack> => {
  const defaults = readChildren(extension, ['mehd'], ['trex']).filter(({ name }) => name === 'trex');
  return new Map(
    tracks.map(({ id }) => {
      const own = defaults.filter(({ body }) => body.readUInt32BE(4) === id);
      if (own.length > 1) throw new DoubtfulFilm('two defaults of one track');
      return [
        id,
        {
          defaultDuration: own[0]?.body.readUInt32BE(12) ?? 0,
          span: { first: Infinity, end: -Infinity },
          next: 0,
          total: 0,
          samples: 0,
        },
      ];
    }),
  );
};

interface Reading {
  /** When it begins and ends, in seconds. */
  first: number;
  end: number;
  claimed: number;
}

const readingOf = (track: Track, fragments: FragmentedTrack | null): Reading => {
  const { timescale, edit, claimedSeconds: claimed } = track;
  const span = fragments === null ? track.span : spanOfFragments(fragments, timescale);
  if (span === null) return { first: Infinity, end: 0, claimed };
  const from = edit === null ? 0 : edit.from;
  const delay = edit?.delay ?? 0;
  const first = (span.first - from) / timescale;
  const end = (span.end - from) / timescale;
  const lasts = edit === null || edit.seconds === 0 ? end : edit.seconds;
  // Some players heed the edit, others show what it hides.
  if (edit !== null && (first < -toleranceSeconds || end - lasts > toleranceSeconds))
    throw new DoubtfulFilm('an edit hides a part of it');
  return { first: Math.max(0, first) + delay, end: Math.max(end, lasts) + delay, claimed };
};

const spanOfFragments = ({ span, total, samples }: FragmentedTrack, timescale: number): Span | null => {
  if (samples === 0) return null;
  if (total - (span.end - span.first) > toleranceSeconds * timescale)
    throw new DoubtfulFilm('fragments that play at the same time');
  return span;
};
