import { Logging, LogLevel } from 'mediabunny';
import { serveCalls } from '../../../kit/threads/serve-calls.ts';
import type { VideoMeasure, VideoSource } from '../measure-video.ts';
import { readMeasure } from './read-measure.ts';

// The answer says what is wrong with the file of a caller.
Logging.level = LogLevel.Silent;

serveCalls((source: VideoSource): Promise<VideoMeasure | null> => readMeasure(source).catch(() => null));
