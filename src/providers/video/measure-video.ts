import { AppError } from '../../kit/errors.ts';
import { ThreadError } from '../../kit/threads/connect-thread.ts';
import { createThreadPool, type ThreadPool } from '../../kit/threads/thread-pool.ts';

export interface VideoMeasure {
  /** Play time of the pictures, above 0 and at most 3,600, with a fraction. */
  seconds: number;
  /** In pixels, as shown, after rotation and with square pixels. */
  width: number;
  height: number;
}

/** A file's path, or all its bytes. */
export type VideoSource = string | Uint8Array;

/** One thread for the whole process. It starts with the first video and does not keep the process alive. */
let pool: ThreadPool<VideoSource, VideoMeasure | null> | null = null;

const never = new AbortController().signal;

/**
 * Measures an MP4, MOV or WebM file in a thread. Returns null for one that cannot be read within the bounds, or whose
 * tables contradict each other. Throws AppError `overloaded` when too many videos wait.
 */
export const measureVideo = async (
  source: VideoSource,
  signal: AbortSignal = never,
): Promise<VideoMeasure | null> => {
  pool ??= createThreadPool({
    file: new URL('./measure/worker.ts', import.meta.url),
    size: 1,
    queueLimit: 100,
    timeoutMs: 10_000,
    maxHeapMb: 256,
  });
  try {
    return await pool.run(source, signal);
  } catch (error) {
    if (!(error instanceof ThreadError)) throw error;
    if (error.reason !== 'full') return null;
    throw new AppError('overloaded', 'Too many videos are being measured. Try again shortly.', {
      retryAfterSeconds: 2,
      cause: error,
    });
  }
};
