import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError, messages } from '../kit/errors.ts';
import { type RequestNote, watchClient } from '../kit/log-request.ts';
import { writeError, writeJson } from '../kit/write-answer.ts';
import { readUsageTag, usageTagHeader } from '../accounts/usage-tags.ts';
import { bodyCost, maxBodyOf } from '../limits/memory-budget.ts';
import { rateHeaders } from '../limits/minute-limit.ts';
import { createRequestMemory, type BodyMemory } from '../limits/request-memory.ts';
import { execute } from '../operations/execute.ts';
import { rulesOf } from '../operations/sale-rules.ts';
import { invalidQuery } from '../operations/validate.ts';
import { signInHeader, type Dialect, type Proofs } from '../payments/sale/gate.ts';
import type { Answer, FileAnswer } from '../operations/answer.ts';
import type { Call, Services } from '../operations/call.ts';
import type { Operation } from '../operations/definition.ts';
import { hasBody, readJsonBody } from './read-json-body.ts';
import { answerPreflight, allowsAnyOrigin, setCorsHeaders } from './cors.ts';
import { writePaymentRequired } from './paywall/paywall-answer.ts';
import { createRouteTable, refuseMethod, routeFor, type FoundRoute } from './route-table.ts';
import { contentDisposition, createServeContent, type ServeContent } from './serve-content.ts';
import { writeEvents, writeText } from './write-events.ts';

/** The facts of a request before its route is known. */
export interface RequestContext extends Pick<Call, 'requestId' | 'clientAddress'> {
  url: URL;
  note: RequestNote;
  /** Called at most once, and only if a route needs it. */
  authenticate: (authorization: string | undefined, note: RequestNote) => Promise<Call['caller']>;
  /** True: only pages of this gateway may call, so the answer opens nothing to other origins. */
  isOwnPage?: boolean;
}

type Route = FoundRoute<Operation>;

/**
 * Makes one thin route per operation: read the request, `execute`, write the answer. The returned function serves a request
 * if an operation has its path; else it returns false and touches nothing.
 */
export const createRestRoutes = (operations: readonly Operation[], allServices: Services) => {
  const { media, log } = allServices;
  const serveContent = createServeContent({ media, log });
  const services = { ...allServices, serveContent };
  const find = createRouteTable(operations);

  return (request: IncomingMessage, response: ServerResponse, context: RequestContext): boolean => {
    const onPath = find(context.url.pathname);
    if (onPath.length === 0) return false;
    const opened = onPath.find(
      ({ operation }) => context.isOwnPage !== true && allowsAnyOrigin(operation),
    )?.operation;
    if (opened !== undefined) {
      setCorsHeaders(response, opened, allServices.config);
      if (request.method === 'OPTIONS') {
        answerPreflight(response, opened, allServices.config);
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
  const rate: NonNullable<Call['rate']> = {};
  try {
    const { dialects } = services.config.x402;
    const caller = await readCaller(request, context, { operation, dialects });
    const memory = createRequestMemory({
      budget: services.bodyMemory,
      signal,
      accountId: caller?.accountId,
    });
    // Work may go on after its client has gone.
    for (const ended of [closed, served.promise]) memory.holdUntil(ended);
    const input = await readInput(route, request, context, { services, caller, memory });
    const call = toCall(request, context, { operation, caller, memory, rate, signal, dialects });
    const answer = await execute(operation, input, call, services);
    setRateHeaders(response, rate);
    await writeAnswer(answer, { request, response, operation, context, services });
  } catch (error) {
    setRateHeaders(response, rate);
    writeError(response, error, { log: services.log, requestId, validation: operation.rest.validation });
  } finally {
    served.resolve();
  }
};

/** Also a refusal tells what is left of the limit, once the call was counted. */
const setRateHeaders = (response: ServerResponse, { left }: NonNullable<Call['rate']>): void => {
  if (left === undefined || response.headersSent) return;
  for (const [name, value] of Object.entries(rateHeaders(left))) response.setHeader(name, value);
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
    case 'file':
      return writeFile(response, answer, { isWanted: request.method !== 'HEAD' });
    case 'payment_required':
      return writePaymentRequired(response, answer, { request, operation, url, services });
    case 'task':
      throw new Error(`${operation.name} answered with a task, which only MCP has`);
    case 'json':
      return writeJson(response, {
        status: answer.status,
        headers: {
          'cache-control': 'no-store',
          ...answer.headers,
          ...(answer.isSandbox ? { [`x-${services.config.brand}-sandbox`]: 'true' } : {}),
          ...answer.receipt?.headers,
          ...answer.receipt?.inDialect,
        },
        body: answer.body,
      });
  }
};

const readCaller = async (
  { headers, method }: IncomingMessage,
  { authenticate, note }: RequestContext,
  { operation: { sale }, dialects }: { operation: Operation; dialects: readonly Dialect[] },
): Promise<Call['caller']> => {
  const { key, isPaid } = rulesOf(sale);
  if (key === 'none') return null;
  const { authorization } = headers;
  const isPayment = dialects.some(({ isCredential }) => isCredential(authorization ?? ''));
  const caller = isPayment ? null : await authenticate(authorization, note);
  if (caller === null && key === 'needed')
    throw new AppError('invalid_api_key', messages.invalid_api_key, {
      headers: { 'www-authenticate': 'Bearer' },
    });
  // HEAD buys nothing, so it is answered as for a caller without a balance.
  return method === 'HEAD' && isPaid ? null : caller;
};

const toCall = (
  request: IncomingMessage,
  { requestId, clientAddress }: RequestContext,
  {
    operation: { sale },
    dialects,
    ...call
  }: Pick<Call, 'caller' | 'memory' | 'signal' | 'rate'> & {
    operation: Operation;
    dialects: readonly Dialect[];
  },
): Call => ({
  ...call,
  transport: 'rest',
  requestId,
  clientAddress,
  signIn: request.headers[signInHeader]?.toString(),
  idempotencyKey: rulesOf(sale).isPrepaid ? (request.headers['idempotency-key']?.toString() ?? null) : null,
  ...(rulesOf(sale).isPrepaid ? readTag(request.headers[usageTagHeader]) : {}),
  proofs: rulesOf(sale).isPaid ? readProofs(request, dialects) : null,
});

/** Few calls have a tag. */
const readTag = (sent: string | string[] | undefined): Pick<Call, 'usageTag'> =>
  sent === undefined ? {} : { usageTag: readUsageTag(sent.toString()) };

const readInput = async (
  { operation, fields, readParameters }: Route,
  request: IncomingMessage,
  { url }: RequestContext,
  { services, caller, memory }: { services: Services; caller: Call['caller']; memory: BodyMemory },
): Promise<unknown> => {
  const parameters = readParameters(url.searchParams, fields);
  const { method, isBodyOptional } = operation.rest;
  const isWithout = method === 'GET' || method === 'DELETE' || (isBodyOptional === true && !hasBody(request));
  if (isWithout) return parameters;
  const maxBytes = maxBodyOf(caller, services.config.maxBodyBytes);
  const { value: body, length } = await readJsonBody(request, {
    maxBytes,
    ...(caller === null ? { hint: 'A call with a key may be larger.' } : {}),
    reserve: (contentLength) => memory.takeBody(bodyCost(contentLength, maxBytes)),
  });
  memory.measureBody(bodyCost(String(length), maxBytes));
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const misplaced = operation.rest.query.find((name) => (Reflect.get(body, name) ?? false) !== false);
  if (misplaced !== undefined) throw invalidQuery(misplaced, `goes in the query: ?${misplaced}=true`);
  return { ...body, ...parameters };
};

/** Reads the payment headers of a request for something that is sold. HEAD asks for the headers of GET, and buys nothing. */
const readProofs = ({ headers, method }: IncomingMessage, dialects: readonly Dialect[]): Proofs => {
  const buys = method !== 'HEAD';
  const spoken = dialects.map((dialect) => ({
    dialect,
    ...dialect.readRequest(headers),
    ...(buys ? {} : { credential: null }),
  }));
  return {
    ...(spoken.length === 0 ? {} : { dialects: spoken }),
    ...(buys && {
      paymentSignature: headers['payment-signature']?.toString(),
      xPayment: headers['x-payment']?.toString(),
    }),
  };
};

/** Writes a file part by part, at the reader's speed. Throws as the maker of the parts; the file is then broken off. */
const writeFile = async (
  response: ServerResponse,
  { contentType, fileName, parts }: FileAnswer,
  { isWanted }: { isWanted: boolean },
): Promise<void> => {
  const headers = {
    'content-type': contentType,
    'content-disposition': contentDisposition(fileName),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  if (isWanted)
    for await (const part of parts) {
      if (response.destroyed) return;
      // The first part may fail, and is then refused as any other call.
      if (!response.headersSent) response.writeHead(200, headers);
      await writeText(response, part);
    }
  if (!response.headersSent) response.writeHead(200, headers);
  response.end();
};
