import { BufferSource, FilePathSource, Input, MP4, QTFF, WEBM } from 'mediabunny';
import type { VideoMeasure, VideoSource } from '../measure-video.ts';
import { longestReading } from './longest-reading.ts';
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
  const { isWebm, reading } = readBoxes(source);
  const input = new Input({
    source: typeof source === 'string' ? new FilePathSource(source) : new BufferSource(source),
    formats: isWebm ? [WEBM] : [MP4, QTFF],
  });
  try {
    const track = await input.getPrimaryVideoTrack();
    if (track === null) return null;
    // What the header claims, and where the last sample of any track ends: a player goes by the second.
    const claimed = (await input.getDurationFromMetadata()) ?? 0;
    const seconds = Math.max(claimed, await input.computeDuration(), reading);
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
const readBoxes = (source: VideoSource): { isWebm: boolean; reading: number } => {
  const bytes = openBytes(source);
  try {
    const isWebm = bytes.read(0, 4).readUInt32BE() === ebml;
    return { isWebm, reading: isWebm ? 0 : longestReading(bytes) };
  } finally {
    bytes.close();
  }
};

/** Above 0; false for NaN too. */
const isBetween = (value: number, most: number): boolean => value > 0 && value <= most;
