import type { ServerResponse } from 'node:http';
import type { Log } from '../log.ts';
import type { Answer } from '../operations/operation.ts';
import { writeEvents } from './write-events.ts';
import { writeJson } from './write-json.ts';

export interface WriteAnswerOptions {
  log: Log;
  requestId: string;
  brand: string;
}

/** The last step of a REST call: JSON, server-sent events, or the terms of a payment. */
export const writeAnswer = async (
  response: ServerResponse,
  answer: Answer,
  { log, requestId, brand }: WriteAnswerOptions,
): Promise<void> => {
  switch (answer.kind) {
    case 'stream':
      return writeEvents(response, answer, { log, requestId });
    case 'payment_required':
      return writeJson(response, {
        status: 402,
        headers: {
          'payment-required': answer.challenge.header,
          'cache-control': 'no-store',
          ...answer.receipt?.headers,
        },
        body: answer.challenge.body,
      });
    case 'json':
      return writeJson(response, {
        status: answer.status,
        headers: {
          ...answer.headers,
          ...(answer.isSandbox ? { [`x-${brand}-sandbox`]: 'true' } : {}),
          ...answer.receipt?.headers,
        },
        body: answer.body,
      });
  }
};
