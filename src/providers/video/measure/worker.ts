import { parentPort } from 'node:worker_threads';
import { Logging, LogLevel } from 'mediabunny';
import type { WorkerReply } from '../../worker-pool.ts';
import type { VideoMeasure, VideoSource } from '../measure-video.ts';
import { readMeasure } from './read-measure.ts';

// What a stranger's file has wrong with it is told by the answer.
Logging.level = LogLevel.Silent;

const measure = async (source: VideoSource): Promise<WorkerReply<VideoMeasure | null>> => {
  try {
    return { output: await readMeasure(source) };
  } catch {
    return { output: null };
  }
};

parentPort?.on('message', (source: VideoSource) => {
  void measure(source).then((reply) => parentPort?.postMessage(reply));
});
