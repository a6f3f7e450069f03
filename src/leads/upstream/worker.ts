import { parentPort } from 'node:worker_threads';
import type { WorkerReply } from '../../providers/worker-pool.ts';
import { readAnswer, type AnswerToRead, type ReadAnswer } from './read-answer.ts';

/* The thread that reads large answers: each message is one, the reply is what a search answers from it. */
const read = async (answer: AnswerToRead): Promise<WorkerReply<ReadAnswer | null>> => {
  try {
    return { output: await readAnswer(answer) };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : 'an answer could not be read' };
  }
};

parentPort?.on('message', (answer: AnswerToRead) => {
  void read(answer).then((reply) => parentPort?.postMessage(reply));
});
