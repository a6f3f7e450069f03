import { parentPort } from 'node:worker_threads';
import { Logging, LogLevel } from 'mediabunny';
import type { WorkerReply } from '../../worker-pool.ts';
import type { RemuxTask } from '../to-mov.ts';
import { remux } from './remux.ts';

Logging.level = LogLevel.Silent;

const answer = async (task: RemuxTask): Promise<WorkerReply<null>> => {
  try {
    await remux(task);
    return { output: null };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : 'the video was not remuxed' };
  }
};

parentPort?.on('message', (task: RemuxTask) => {
  void answer(task).then((reply) => parentPort?.postMessage(reply));
});
