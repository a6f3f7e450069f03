import {
  BufferSource,
  FilePathSource,
  Input,
  type InputVideoTrack,
  Logging,
  LogLevel,
  MP4,
  QTFF,
  WEBM,
} from 'mediabunny';
import { serveCalls } from '../../../kit/threads/serve-calls.ts';
import type { VideoMeasure, VideoSource } from '../measure-video.ts';
import { DoubtfulFilm, openBytes } from './boxes.ts';
import { readLength, toleranceSeconds } from './read-length.ts';

const maxSeconds = 3_600;
const maxSide = 16_384;
/** Pictures that are counted. They are enough to tell the rate. */
const maxCounted = 20_000;
/** Slow-motion cameras make 960. A table with more pictures a second has a wrong length. */
const maxPicturesPerSecond = 1_000;
/** The first bytes of every WebM file. */
const ebml = 0x1a45_dfa3;

/** Measures a film. Throws or returns null when it cannot be measured. */
const readMeasure = async (source: VideoSource): Promise<VideoMeasure | null> => {
  const { isWebm, length } = readBoxes(source);
  if (!isWebm && length === null) return null;
  const input = new Input({
    source: typeof source === 'string' ? new FilePathSource(source) : new BufferSource(source),
    formats: isWebm ? [WEBM] : [MP4, QTFF],
  });
  try {
    const track = await input.getPrimaryVideoTrack();
    if (track === null) return null;
    const seconds = length ?? (await readWebmLength(input, track));
    const { packetCount } = await track.computePacketStats(maxCounted);
    const width = await track.getDisplayWidth();
    const height = await track.getDisplayHeight();
    const isPlausible =
      isBetween(seconds, maxSeconds) &&
      isBetween(width, maxSide) &&
      isBetween(height, maxSide) &&
      isBetween(packetCount, seconds * maxPicturesPerSecond + 1);
    return isPlausible ? { seconds, width, height } : null;
  } finally {
    input.dispose();
  }
};

/** Checks the boxes of MP4 and MOV before the library reads them. WebM has none. */
const readBoxes = (source: VideoSource): { isWebm: boolean; length: number | null } => {
  const bytes = openBytes(source);
  try {
    const isWebm = bytes.read(0, 4).readUInt32BE() === ebml;
    return { isWebm, length: isWebm ? null : readLength(bytes) };
  } finally {
    bytes.close();
  }
};

/** Returns the length of the pictures, as for MP4. Throws when the header or another track is longer by more than padding. */
const readWebmLength = async (input: Input, pictures: InputVideoTrack): Promise<number> => {
  const end = await pictures.computeDuration();
  const begin = Math.max(0, await pictures.getFirstTimestamp());
  const longest = Math.max((await input.getDurationFromMetadata()) ?? 0, await input.computeDuration());
  if (longest > end + toleranceSeconds || begin > toleranceSeconds)
    throw new DoubtfulFilm('the pictures are shorter than the film');
  return end - begin;
};

/** Tells whether a value is above 0 and at most `maximum`; false for NaN. */
const isBetween = (value: number, maximum: number): boolean => value > 0 && value <= maximum;

// The answer says what is wrong with the file of a caller.
Logging.level = LogLevel.Silent;

serveCalls((source: VideoSource): Promise<VideoMeasure | null> => readMeasure(source).catch(() => null));
