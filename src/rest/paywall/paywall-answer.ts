import type { IncomingMessage, ServerResponse } from 'node:http';
import { brandTitle } from '../../kit/text.ts';
import { writeJson } from '../../kit/write-answer.ts';
import type { PaymentRequiredAnswer } from '../../operations/answer.ts';
import type { Services } from '../../operations/call.ts';
import type { Operation } from '../../operations/definition.ts';
import { pageHeaders } from '../page-shell.ts';
import { paywallPage, type PaywallSubject } from './paywall-page.ts';
import { isPaywallWanted } from './paywall-wanted.ts';

export interface UnpaidRequest {
  request: IncomingMessage;
  operation: Operation;
  url: URL;
  services: Services;
}

/** Writes the 402: the terms in the header, and a body for programs (JSON) or for people (a page).
 * The answer to a refused MPP credential has problem details and the terms. */
export const writePaymentRequired = (
  response: ServerResponse,
  { challenge, receipt, isSandbox, quote }: PaymentRequiredAnswer,
  unpaid: UnpaidRequest,
): void => {
  const { mpp } = challenge;
  const headers = {
    'payment-required': challenge.header,
    ...mpp?.headers,
    'cache-control': 'no-store',
    vary: 'Accept',
    ...(isSandbox ? { [`x-${unpaid.services.config.brand}-sandbox`]: 'true' } : {}),
    ...receipt?.headers,
  };
  const body = quote === undefined ? challenge.body : { ...challenge.body, quote };
  if (mpp?.problem)
    return writeJson(response, {
      status: 402,
      headers: { ...headers, 'content-type': 'application/problem+json' },
      body: { ...body, ...mpp.problem },
    });
  if (!isPaywallWanted(unpaid.request.headers)) return writeJson(response, { status: 402, headers, body });
  const page = Buffer.from(paywallPage(challenge, toPaywallSubject(unpaid)));
  response.writeHead(402, {
    ...pageHeaders,
    ...headers,
    'content-type': 'text/html; charset=utf-8',
    'content-length': page.length,
  });
  response.end(page);
};

/** Describes the request for the page. Only path and query come from the caller. */
const toPaywallSubject = ({
  operation: { name, title, description, tool, rest },
  url,
  services,
}: UnpaidRequest): PaywallSubject => {
  const { config, publicUrl, x402 } = services;
  const sale = x402.sales.find((one) => one.name === name);
  const labels = new Map(
    x402.status().map(({ network, label, isTest }) => [network, isTest ? `${label} (test money)` : label]),
  );
  return {
    brand: brandTitle(config),
    publicUrl: publicUrl(),
    target: `${url.pathname}${url.search}`,
    title,
    description,
    tool: tool === null ? null : name,
    isCredit: sale?.isCredit === true,
    sandboxNotice: sale?.notice() ?? null,
    parameters: [...url.searchParams].filter(([parameter]) => rest.query.includes(parameter)),
    labelOf: (network) => labels.get(network) ?? network,
  };
};
