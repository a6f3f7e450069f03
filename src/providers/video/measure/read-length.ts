import {
  DoubtfulFilm,
  isTiming,
  readBoxHeader,
  readChildren,
  readDuration,
  readTimes,
  readVersion,
} from './boxes.ts';
import type { FilmBytes } from './boxes.ts';
import { readFragment, type FragmentedTrack } from './read-fragment.ts';
import { readTrack, type Track } from './read-track.ts';

/** How much longer a header or a track may be than the pictures, and how late these may begin: codecs add padding. */
export const toleranceSeconds = 0.5;
const maxBoxes = 50_000;
const maxHeaderBytes = 16 * 1024 ** 2;
/** Enough for about ten thousand fragments. */
const maxIndexBytes = 512 * 1024;
const maxTracks = 64;
const normalRate = 0x1_0000;

interface Film {
  /** Length by the headers; 0 where they have none. */
  claimedSeconds: number;
  tracks: Track[];
  /** By track id; null: the film has no fragments. */
  fragmented: Map<number, FragmentedTrack> | null;
}

/**
 * Returns how long the pictures of an MP4 or MOV film play by its edit list, in seconds; null when it has no pictures.
 * Throws DoubtfulFilm, or RangeError, for a film whose headers or other tracks are longer by more than padding, and for one
 * that another player might show for longer: with both a sample table and fragments, with several edits, or with tables
 * that contradict each other or are out of place.
 *
 * The library that reads the rest gives one reading of any film: it measures what its own player would show, accepts
 * most of these films, and counts billions of claimed samples one by one. A bill needs an upper bound for all players.
 */
export const readLength = (bytes: FilmBytes): number | null => {
  const { claimedSeconds, tracks, fragmented } = readFilm(bytes);
  const readings = tracks.map((track) => readingOf(track, fragmented?.get(track.id) ?? null));
  const pictures = readings.filter(({ isPicture, seconds }) => isPicture && seconds > 0);
  if (pictures.length === 0) return null;
  const end = Math.max(...pictures.map((picture) => picture.end));
  const longest = Math.max(
    claimedSeconds,
    ...readings.map((reading) => Math.max(reading.end, reading.claimed)),
  );
  if (longest > end + toleranceSeconds)
    throw new DoubtfulFilm('a header or a track is longer than the pictures');
  if (pictures.some(({ begin }) => begin > toleranceSeconds))
    throw new DoubtfulFilm('its pictures begin late');
  return Math.max(...pictures.map(({ seconds }) => seconds));
};

const readFilm = (bytes: FilmBytes): Film => {
  let film: Film | null = null;
  let readBytes = 0;
  for (let at = 0, count = 0; bytes.size - at >= 8; count += 1) {
    if (count === maxBoxes) throw new DoubtfulFilm('too many boxes');
    const { name, headerBytes, size } = readBoxHeader(bytes.read(at, 16));
    const isWhole = size >= headerBytes && size <= bytes.size - at;
    if (isTiming(name)) {
      readBytes += size;
      if (!isWhole || readBytes > maxHeaderBytes) throw new DoubtfulFilm('the header is cut off or too long');
      const body = bytes.read(at + headerBytes, size - headerBytes);
      if (name === 'moov' && film === null) film = readMovie(body);
      else if (name === 'moof' && film !== null && film.fragmented !== null)
        readFragment(body, film.fragmented);
      else throw new DoubtfulFilm(`${name} is out of place`);
    }
    // No player reads the bytes after it.
    if (!isWhole) break;
    at += size;
  }
  if (film === null) throw new DoubtfulFilm('there is no header');
  if (film.fragmented !== null) assertSmallIndex(bytes);
  return film;
};

/** Checks the table of fragments. The last number of the file is its distance from the end. */
const assertSmallIndex = (bytes: FilmBytes): void => {
  const at = bytes.size - bytes.read(bytes.size - 4, 4).readUInt32BE();
  const head = at < 0 ? Buffer.alloc(0) : bytes.read(at, 16);
  if (head.length < 16) return;
  const { name, size } = readBoxHeader(head);
  if (name === 'mfra' && size > maxIndexBytes) throw new DoubtfulFilm('the table of fragments is too long');
};

const readMovie = (body: Buffer): Film => {
  const boxes = readChildren(body, ['mvhd', 'mvex'], ['trak']);
  const head = boxes.get('mvhd');
  const { timescale, durationSeconds } = readTimes(head);
  const rate = head.readUInt32BE(readVersion(head) === 1 ? 32 : 20);
  if (rate !== normalRate && rate !== 0) throw new DoubtfulFilm('it plays at another rate');
  const tracks = boxes.all('trak').map((track) => readTrack(track, timescale));
  if (tracks.length > maxTracks || new Set(tracks.map(({ id }) => id)).size !== tracks.length)
    throw new DoubtfulFilm('too many tracks, or two of one id');
  const extension = boxes.find('mvex');
  if (extension === null) return { claimedSeconds: durationSeconds, tracks, fragmented: null };
  if (tracks.some(({ span }) => span !== null)) throw new DoubtfulFilm('both a sample table and fragments');
  const extensions = readChildren(extension, ['mehd'], ['trex']);
  const claim = extensions.find('mehd');
  return {
    claimedSeconds: Math.max(durationSeconds, claim === null ? 0 : readDuration(claim, 4) / timescale),
    tracks,
    fragmented: new Map(tracks.map(({ id }) => [id, withDefaults(extensions.all('trex'), id)])),
  };
};

/** Finds the defaults of a track's fragments. */
const withDefaults = (defaults: readonly Buffer[], id: number): FragmentedTrack => {
  const [own, ...others] = defaults.filter((body) => body.readUInt32BE(4) === id);
  if (own === undefined || others.length > 0) throw new DoubtfulFilm('a track needs its defaults once');
  return {
    defaultDuration: own.readUInt32BE(12),
    span: { first: Infinity, end: -Infinity, longest: 0, total: 0, isCertain: true },
    next: 0,
    last: -1,
    samples: 0,
  };
};

interface Reading {
  isPicture: boolean;
  /** Play time. */
  seconds: number;
  /** Begin and end in the film. */
  begin: number;
  end: number;
  /** End by the longest of its headers. */
  claimed: number;
}

const readingOf = (track: Track, fragments: FragmentedTrack | null): Reading => {
  const { isPicture, timescale, edit, claimedSeconds, claimedMediaSeconds } = track;
  const span = fragments === null ? track.span : fragments.samples > 0 ? fragments.span : null;
  const delay = edit?.delay ?? 0;
  const claimed = Math.max(claimedSeconds, delay + (edit?.seconds ?? 0));
  if (span === null)
    return { isPicture, seconds: 0, begin: 0, end: 0, claimed: Math.max(claimed, claimedMediaSeconds) };
  if (isPicture && !span.isCertain) throw new DoubtfulFilm('pictures at one time, or chunks with too many');
  const [first, end, total] = [span.first / timescale, span.end / timescale, span.total / timescale];
  if (claimedMediaSeconds > end + toleranceSeconds)
    throw new DoubtfulFilm('the header of a track is longer than its samples');
  if (first < -toleranceSeconds) throw new DoubtfulFilm('samples before the beginning');
  const together = Math.max(0, total - (end - first));
  if (together > toleranceSeconds) throw new DoubtfulFilm('samples that play at the same time');
  const from = edit === null ? 0 : edit.from / timescale;
  const stop = edit === null || edit.seconds === 0 ? Infinity : from + edit.seconds;
  // Players do not cut fragments by an edit. A small edit tells when the first picture shows.
  if (fragments !== null && (from > first + toleranceSeconds || stop < end - toleranceSeconds))
    throw new DoubtfulFilm('an edit cuts off fragments, which players show whole');
  const isCut = fragments === null;
  if (isCut && stop < end && span.longest > toleranceSeconds * timescale)
    throw new DoubtfulFilm('an edit cuts off a long sample, which some players show whole');
  const shownFrom = isCut && from > 0 ? Math.max(first, from) : first;
  const shownTo = Math.max(isCut ? Math.min(end, stop) : end, shownFrom);
  return {
    isPicture,
    seconds: shownTo > shownFrom ? shownTo - shownFrom + together : 0,
    begin: delay + shownFrom - from,
    end: delay + shownTo - from,
    claimed,
  };
};
