import {
  assertHarmless,
  DoubtfulFilm,
  type FilmBytes,
  isOpened,
  isTiming,
  readBoxHeader,
  readChildren,
  readDuration,
  readTimes,
  readVersion,
} from './boxes.ts';
import { readSampleTable } from './sample-table.ts';

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
    if (isTiming(name) || isOpened(name)) {
      readBytes += size;
      if (!isWhole || readBytes > maxHeaderBytes) throw new DoubtfulFilm('the header is cut off or too long');
      const body = bytes.read(at + headerBytes, size - headerBytes);
      if (isOpened(name)) assertHarmless({ name, body });
      else if (name === 'moov' && film === null) film = readMovie(body);
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

/** The state of reading a track of a fragmented film. */
type FragmentedTrack = ReturnType<typeof withDefaults>;

/** Finds the defaults of a track's fragments. */
const withDefaults = (defaults: readonly Buffer[], id: number) => {
  const [own, ...others] = defaults.filter((body) => body.readUInt32BE(4) === id);
  if (own === undefined || others.length > 0) throw new DoubtfulFilm('a track needs its defaults once');
  return {
    /** Duration of samples whose fragment has none, from the film's header. */
    defaultDuration: own.readUInt32BE(12),
    span: { first: Infinity, end: -Infinity, longest: 0, total: 0, isCertain: true },
    /** Start of the next fragment that has none of its own. */
    next: 0,
    /** Start of the sample read last. */
    last: -1,
    samples: 0,
  };
};

const readingOf = (track: Track, fragments: FragmentedTrack | null) => {
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
    /** Play time. */
    seconds: shownTo > shownFrom ? shownTo - shownFrom + together : 0,
    /** Begin and end in the film. */
    begin: delay + shownFrom - from,
    end: delay + shownTo - from,
    /** End by the longest of its headers. */
    claimed,
  };
};

type Track = ReturnType<typeof readTrack>;

const maxEdits = 100;

/** Reads the body of a `trak`. */
const readTrack = (body: Buffer, movieTimescale: number) => {
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
    /** Units of the track's time in a second. */
    timescale,
    /** Null: the whole track plays. */
    edit: list === null ? null : readEdit(list, movieTimescale),
    /** Span of the samples in the table; null when it has none. */
    span: readSampleTable(tables.get('stbl')),
    /** Play time by its header; 0 where it has none. */
    claimedSeconds: readDuration(head, idAt + 8) / movieTimescale,
    /** Length of its samples without edits, by the header of its media; 0 where it has none. */
    claimedMediaSeconds: durationSeconds,
  };
};

/** The part of a track that plays: from a time of the track, for seconds (0: to the end), after a delay in seconds. */
type Edit = { delay: number; from: number; seconds: number };

/** Reads a list of empty edits and then one edit, at the normal rate. Players differ about any other list. */
const readEdit = (body: Buffer, movieTimescale: number): Edit | null => {
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

const maxFragmentSamples = 500_000;

/** Adds the samples of a `moof` to the tracks, by their ids. */
const readFragment = (body: Buffer, tracks: ReadonlyMap<number, FragmentedTrack>): void => {
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
