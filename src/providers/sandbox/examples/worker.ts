import { parentPort } from 'node:worker_threads';
import type { Json } from '../../../kit/json.ts';
import type { WorkerReply } from '../../worker-pool.ts';
import { makeExample } from './make-example.ts';

const reply = (schema: Json): WorkerReply<string> => {
  try {
    return { output: JSON.stringify(makeExample(schema)) };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : 'no example' };
  }
};

parentPort?.on('message', (schema: Json) => parentPort?.postMessage(reply(schema)));
