import type { JobEvent } from '../../jobs/executor.ts';
import { readResponse, toUnfinishedResponse, type ResponseObject } from './response-object.ts';
import {
  createResponseOutput,
  type ResponseOutput,
  type ItemEnd,
  type OutputItem,
  type ResponseEvent,
} from './response-output.ts';
import { isTerminal } from '../../jobs/public-job.ts';
import type { Job } from '../../store/store.ts';
import type { TextStream } from '../chat/answer-text-job.ts';
import type { ServerSentEvent } from '../answer.ts';

/** An event that carries the whole response in its present state. */
interface LifecycleEvent {
  type: `response.${'created' | 'in_progress' | 'completed' | 'incomplete' | 'failed'}`;
  response: ResponseObject;
}

/** Makes the numbered events of a response. Replayed events are the same, with each text in one piece. */
export const createResponseStream = (jobId: string): TextStream => {
  const output = createResponseOutput(jobId);
  let next = 0;
  const number = (event: ResponseEvent | LifecycleEvent): ServerSentEvent => {
    const data = JSON.stringify({ ...event, sequence_number: next });
    next += 1;
    return { event: event.type, data };
  };
  return {
    begin: (job) => {
      const response = toUnfinishedResponse(readResponse(job));
      const types = ['response.created', 'response.in_progress'] as const;
      return types.map((type) => number({ type, response }));
    },
    add: (piece) => output.add(piece).map(number),
    addStored: (job) =>
      readResponse(job)
        .output.flatMap(toPieces)
        .flatMap((piece) => output.add(piece))
        .map(number),
    end: (job) => ending(output, readEnd(job)).map(number),
  };
};

const ending = (output: ResponseOutput, response: ResponseObject): (ResponseEvent | LifecycleEvent)[] => {
  const { status } = response;
  if (status !== 'completed' && status !== 'incomplete') return [{ type: 'response.failed', response }];
  const end: ItemEnd = status;
  return [...output.end(end), { type: `response.${status}`, response }];
};

/** Returns the end of a stream. A response that outlasts the wait ends its stream as failed, goes on, and can be read. */
const readEnd = (job: Job): ResponseObject => {
  const response = readResponse(job);
  if (isTerminal(job)) return response;
  const message = `The response takes longer than this stream may wait; it goes on. Read it with GET /v1/responses/${response.id}.`;
  return { ...response, status: 'failed', error: { code: 'server_error', message } };
};

/** Splits an output item into pieces that give the same item again. */
const toPieces = (item: OutputItem, outputIndex: number): JobEvent[] => {
  switch (item.type) {
    case 'message':
      return item.content.map((part) =>
        part.type === 'output_text'
          ? { type: 'content', text: part.text }
          : { type: 'refusal', text: part.refusal },
      );
    case 'reasoning':
      return (item.content ?? []).map(({ text }) => ({ type: 'reasoning', text }));
    case 'function_call': {
      const { call_id: id, name, arguments: text, extra_content: extraContent } = item;
      const extra = extraContent === undefined ? {} : { extraContent };
      return [{ type: 'tool_call', index: outputIndex, id, name, arguments: text, ...extra }];
    }
  }
};
