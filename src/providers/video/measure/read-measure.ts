import { BufferSource, FilePathSource, Input, MP4, QTFF, WEBM, type InputVideoTrack } from 'mediabunny';
import type { VideoMeasure, VideoSource } from '../measure-video.ts';
import { DoubtfulFilm } from './boxes.ts';
import { readLength, toleranceSeconds } from './read-length.ts';
import { openBytes } from './open-bytes.ts';

const longestSeconds = 3_600;
const longestSide = 16_384;
/** Of the pictures; by then the rate is plain. */
const mostCounted = 20_000;
/** Cameras for slow motion make 960; more pictures a second than that are a table that lies about its length. */
const mostPicturesPerSecond = 1_000;
/** With which every WebM file begins. */
const ebml = 0x1a45_dfa3;

/** Throws, or answers null, for what cannot be measured. */
export const readMeasure = async (source: VideoSource): Promise<VideoMeasure | null> => {
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
    const { packetCount } = await track.computePacketStats(mostCounted);
    const width = await track.getDisplayWidth();
    const height = await track.getDisplayHeight();
    const isPlausible =
      isBetween(seconds, longestSeconds) &&
      isBetween(width, longestSide) &&
      isBetween(height, longestSide) &&
      isBetween(packetCount, seconds * mostPicturesPerSecond + 1);
    return isPlausible ? { seconds, width, height } : null;
  } finally {
    input.dispose();
  }
};

/** The boxes of MP4 and MOV are walked before they are believed; WebM has none. */
const readBoxes = (source: VideoSource): { isWebm: boolean; length: number | null } => {
  const bytes = openBytes(source);
  try {
    const isWebm = bytes.read(0, 4).readUInt32BE() === ebml;
    return { isWebm, length: isWebm ? null : readLength(bytes) };
  } finally {
    bytes.close();
  }
};

/** By its pictures, as for MP4. Throws where the header or another track is longer by more than padding. */
const readWebmLength = async (input: Input, pictures: InputVideoTrack): Promise<number> => {
  const end = await pictures.computeDuration();
  const begin = Math.max(0, await pictures.getFirstTimestamp());
  const longest = Math.max((await input.getDurationFromMetadata()) ?? 0, await input.computeDuration());
  if (longest > end + toleranceSeconds || begin > toleranceSeconds)
    throw new DoubtfulFilm('the pictures are shorter than the film');
  return end - begin;
};

/** Above 0; false for NaN too. */
const isBetween = (value: number, most: number): boolean => value > 0 && value <= most;
