import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError, messages } from '../kit/errors.ts';
import { watchClient } from '../kit/watch-client.ts';
import { writeError } from '../kit/write-error.ts';
import { bodyCost } from '../limits/memory-budget.ts';
import { createRequestMemory, type BodyMemory } from '../limits/request-memory.ts';
import { execute } from '../operations/execute.ts';
import type { Answer, Call, Operation, Services } from '../operations/operation.ts';
import { readJsonBody } from './read-json-body.ts';
import { answerPreflight, allowsAnyOrigin, setCorsHeaders } from './cors.ts';
import { writePaymentRequired } from './paywall/paywall-answer.ts';
import { createRouteTable, refuseMethod, routeFor, type FoundRoute } from './route-table.ts';
import { createServeContent, type ServeContent } from './serve-content.ts';
import { writeEvents } from './write-events.ts';
import { writeJson } from '../kit/write-json.ts';

/** The facts of a request before its route is known. */
export interface RequestContext extends Pick<Call, 'requestId' | 'clientAddress'> {
  url: URL;
  /** Null without a key; rejects with AppError on a wrong one. Called at most once, and only if a route needs it. */
  authenticate: () => Promise<Call['caller']>;
}

type Route = FoundRoute<Operation>;

/**
 * Makes one thin route per operation: read the request, `execute`, write the answer. The returned function serves a request
 * if an operation has its path; else it returns false and touches nothing.
 */
export const createRestRoutes = (operations: readonly Operation[], allServices: Services) => {
  const { media, clock, log } = allServices;
  const serveContent = createServeContent({ media, clock, log });
  const services = { ...allServices, serveContent };
  const find = createRouteTable(operations);

  return (request: IncomingMessage, response: ServerResponse, context: RequestContext): boolean => {
    const onPath = find(context.url.pathname);
    if (onPath.length === 0) return false;
    const opened = onPath.find(({ operation }) => allowsAnyOrigin(operation))?.operation;
    if (opened !== undefined) {
      setCorsHeaders(response);
      if (request.method === 'OPTIONS') {
        answerPreflight(response, opened);
        return true;
      }
    }
    const route = routeFor(request.method, onPath);
    if (route === null) writeError(response, refuseMethod(onPath), { log, requestId: context.requestId });
    else void serve(route, request, response, context, services);
    return true;
  };
};

const serve = async (
  route: Route,
  request: IncomingMessage,
  response: ServerResponse,
  context: RequestContext,
  services: Services & { serveContent: ServeContent },
): Promise<void> => {
  const { operation } = route;
  const { requestId } = context;
  const { signal, closed } = watchClient(response);
  const served = Promise.withResolvers<void>();
  try {
    const caller = await readCaller(context, operation);
    const memory = createRequestMemory({
      budget: services.bodyMemory,
      signal,
      accountId: caller?.accountId,
    });
    // Work may go on after its client has gone.
    for (const ended of [closed, served.promise]) memory.holdUntil(ended);
    const input = await readInput(route, request, context, { services, memory });
    const call = toCall(request, context, { operation, caller, memory, signal });
    const answer = await execute(operation, input, call, services);
    await writeAnswer(answer, { request, response, operation, context, services });
  } catch (error) {
    if (signal.aborted && response.destroyed) return;
    writeError(response, error, { log: services.log, requestId, validation: operation.rest.validation });
  } finally {
    served.resolve();
  }
};

interface Answering {
  request: IncomingMessage;
  response: ServerResponse;
  operation: Operation;
  context: RequestContext;
  services: Services & { serveContent: ServeContent };
}

/** Writes JSON, server-sent events, bytes, or the terms of a payment. */
const writeAnswer = async (
  answer: Answer,
  { request, response, operation, context: { requestId, url }, services }: Answering,
): Promise<void> => {
  switch (answer.kind) {
    case 'stream':
      return writeEvents(response, answer, { log: services.log, requestId });
    case 'content':
      return services.serveContent({ ...answer, request, response, requestId });
    case 'payment_required':
      return writePaymentRequired(response, answer, { request, operation, url, services });
    case 'json':
      return writeJson(response, {
        status: answer.status,
        headers: {
          'cache-control': 'no-store',
          ...answer.headers,
          ...(answer.isSandbox ? { [`x-${services.config.brand}-sandbox`]: 'true' } : {}),
          ...answer.receipt?.headers,
        },
        body: answer.body,
      });
  }
};

const readCaller = async (context: RequestContext, operation: Operation): Promise<Call['caller']> => {
  const { sale } = operation;
  if (sale !== null && sale.prepaid === undefined && sale.x402.isCredit !== true) return null;
  const caller = await context.authenticate();
  if (caller === null && sale?.x402 === undefined)
    throw new AppError('invalid_api_key', messages.invalid_api_key, {
      headers: { 'www-authenticate': 'Bearer' },
    });
  return caller;
};

const toCall = (
  { headers, method }: IncomingMessage,
  { requestId, clientAddress }: RequestContext,
  { operation, ...call }: Pick<Call, 'caller' | 'memory' | 'signal'> & { operation: Operation },
): Call => ({
  ...call,
  transport: 'rest',
  requestId,
  clientAddress,
  idempotencyKey:
    operation.sale?.prepaid === undefined ? null : (headers['idempotency-key']?.toString() ?? null),
  proofs:
    // HEAD asks for the headers of GET, and buys nothing.
    operation.sale?.x402 !== undefined && method !== 'HEAD'
      ? {
          paymentSignature: headers['payment-signature']?.toString(),
          xPayment: headers['x-payment']?.toString(),
        }
      : null,
});

const readInput = async (
  { operation, fields, readParameters }: Route,
  request: IncomingMessage,
  { url }: RequestContext,
  { services, memory }: { services: Services; memory: BodyMemory },
): Promise<unknown> => {
  const parameters = readParameters(url.searchParams, fields);
  if (operation.rest.method !== 'POST') return parameters;
  const { maxBodyBytes: maxBytes } = services.config;
  const { value: body, length } = await readJsonBody(request, {
    maxBytes,
    reserve: (contentLength) => memory.takeBody(bodyCost(contentLength, maxBytes)),
  });
  memory.measureBody(bodyCost(String(length), maxBytes));
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const fromBody = Object.entries(body).filter(([name]) => !operation.rest.query.includes(name));
  return { ...Object.fromEntries(fromBody), ...parameters };
};
