import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../kit/log.ts';
import type { Answer } from '../operations/operation.ts';
import { writePaymentRequired } from './paywall/paywall-answer.ts';
import type { PaywallSubject } from './paywall/paywall-page.ts';
import type { ServeContent } from './serve-content.ts';
import { writeEvents } from './write-events.ts';
import { writeJson } from '../kit/write-json.ts';

export interface WriteAnswerOptions {
  log: Log;
  /** The request; it may ask for a part of a content. */
  request: IncomingMessage;
  requestId: string;
  brand: string;
  serveContent: ServeContent;
  /** The contents of the page that a person at a browser sees instead of an unpaid answer. */
  paywallSubject: () => PaywallSubject;
}

/** The last step of a REST call: JSON, server-sent events, or the terms of a payment. */
export const writeAnswer = async (
  response: ServerResponse,
  answer: Answer,
  { log, request, requestId, brand, serveContent, paywallSubject }: WriteAnswerOptions,
): Promise<void> => {
  switch (answer.kind) {
    case 'stream':
      return writeEvents(response, answer, { log, requestId });
    case 'content': {
      const { media, fileName, whenMissing } = answer;
      return serveContent({ media, fileName, whenMissing, request, response, requestId });
    }
    case 'payment_required':
      return writePaymentRequired(response, answer, { request, brand, subject: paywallSubject });
    case 'json':
      return writeJson(response, {
        status: answer.status,
        headers: {
          'cache-control': 'no-store',
          ...answer.headers,
          ...(answer.isSandbox ? { [`x-${brand}-sandbox`]: 'true' } : {}),
          ...answer.receipt?.headers,
        },
        body: answer.body,
      });
  }
};
