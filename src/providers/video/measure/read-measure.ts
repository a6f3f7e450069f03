import { BufferSource, FilePathSource, Input, MP4, QTFF, WEBM } from 'mediabunny';
import type { VideoMeasure, VideoSource } from '../measure-video.ts';

const longestSeconds = 3_600;
const longestSide = 16_384;
/** Of the pictures; by then the rate is plain. */
const mostCounted = 20_000;
/** Cameras for slow motion make 960; more pictures a second than that are a table that lies about its length. */
const mostPicturesPerSecond = 1_000;

/** Throws, or answers null, for what cannot be measured. */
export const readMeasure = async (source: VideoSource): Promise<VideoMeasure | null> => {
  const input = new Input({
    source: typeof source === 'string' ? new FilePathSource(source) : new BufferSource(source),
    formats: [MP4, QTFF, WEBM],
  });
  try {
    const track = await input.getPrimaryVideoTrack();
    if (track === null) return null;
    // What the header claims, and where the last sample of any track ends: a player goes by the second.
    const claimed = (await input.getDurationFromMetadata()) ?? 0;
    const seconds = Math.max(claimed, await input.computeDuration());
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

/** Above 0; false for NaN too. */
const isBetween = (value: number, most: number): boolean => value > 0 && value <= most;
