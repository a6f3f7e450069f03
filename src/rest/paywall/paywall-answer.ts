import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PaymentRequiredAnswer } from '../../operations/operation.ts';
import { pageHeaders } from '../page-shell.ts';
import { paywallPage, type PaywallSubject } from './paywall-page.ts';
import { isPaywallWanted } from './paywall-wanted.ts';
import { writeJson } from '../../kit/write-json.ts';

export interface PaymentRequiredOptions {
  request: IncomingMessage;
  brand: string;
  /** Called only when a page is written. */
  subject: () => PaywallSubject;
}

/** Writes the 402: the terms in the header, and a body for programs (JSON) or for people (a page). */
export const writePaymentRequired = (
  response: ServerResponse,
  { challenge, receipt, isSandbox }: PaymentRequiredAnswer,
  { request, brand, subject }: PaymentRequiredOptions,
): void => {
  const headers = {
    'payment-required': challenge.header,
    'cache-control': 'no-store',
    vary: 'Accept',
    ...(isSandbox ? { [`x-${brand}-sandbox`]: 'true' } : {}),
    ...receipt?.headers,
  };
  if (!isPaywallWanted(request.headers)) {
    writeJson(response, { status: 402, headers, body: challenge.body });
    return;
  }
  const page = Buffer.from(paywallPage(challenge, subject()));
  response.writeHead(402, {
    ...pageHeaders,
    ...headers,
    'content-type': 'text/html; charset=utf-8',
    'content-length': page.length,
  });
  response.end(page);
};
