import type { IncomingMessage, ServerResponse } from 'node:http';
import { SpanKind, type Attributes } from '@opentelemetry/api';
import { AppError } from '../kit/errors.ts';
import type { RequestNote } from '../kit/log-request.ts';
import { createPathMatcher } from '../kit/path-matcher.ts';
import type { Answer } from '../operations/answer.ts';
import type { Call, ObserveOperation } from '../operations/call.ts';
import type { Operation } from '../operations/definition.ts';
import type { Watching } from './metering.ts';
import { spanAttributes as name } from './names.ts';
import type { OpenSpan, Tracing } from './tracing.ts';

export type ObserveRequest = (
  exchange: { request: IncomingMessage; response: ServerResponse; note: RequestNote },
  serve: () => void,
) => void;

/** Watches requests over HTTP from their beginning until the last byte of the answer. */
export const createObserveRequest = (
  operations: readonly Operation[],
  { tracing, metering }: Watching,
): ObserveRequest => {
  const routeOf = createRouteOf(operations.map(({ rest }) => rest.path));
  return ({ request, response, note }, serve) => {
    const { method = '', url = '/', headers } = request;
    const route = routeOf(url.replace(/[?#].*/s, ''));
    const facts = { [name.method]: knownMethods.has(method) ? method : '_OTHER', [name.route]: route };
    const startedAt = performance.now();
    const span = tracing.start(
      `${facts[name.method]} ${route}`,
      {
        kind: SpanKind.SERVER,
        attributes: { ...facts, [name.requestId]: String(response.getHeader('x-request-id')) },
      },
      tracing.parentOf(headers),
    );
    if (tracing.isOn) Object.assign(note, tracing.run(span.context, tracing.ids));
    response.once('close', () => {
      // 0: the client left before it got an answer.
      const status = response.headersSent ? response.statusCode : 0;
      metering.record('requests', (performance.now() - startedAt) / 1_000, {
        ...facts,
        [name.status]: status,
      });
      span.set({ [name.status]: status });
      span.end(status >= 500 ? String(status) : undefined);
    });
    tracing.run(span.context, serve);
  };
};

const knownMethods = new Set(['GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE']);

/** Addresses that are no operations, by their beginning. Anything else is `other`: strangers invent addresses. */
const pages = [
  '/mcp',
  '/health/live',
  '/health/ready',
  '/results/',
  '/console',
  '/docs',
  '/openapi.json',
  '/.well-known/',
  '/admin/',
];

const createRouteOf = (paths: readonly string[]): ((path: string) => string) => {
  const plain = new Set(paths);
  const templates = paths
    .filter((path) => path.includes('{'))
    .map((path) => ({ path, match: createPathMatcher(path) }));
  return (path) => {
    if (plain.has(path)) return path;
    const template = templates.find(({ match }) => match(path) !== null);
    if (template !== undefined) return template.path;
    if (path === '/') return path;
    return pages.find((page) => path.startsWith(page)) ?? 'other';
  };
};

/** Watches `execute`: a span for each call of an operation, which ends with its answer, and a metric of tool calls. */
export const createObserveOperation =
  ({ tracing, metering }: Watching): ObserveOperation =>
  async (operation, call, perform) => {
    const span = startSpan(tracing, operation, call);
    const labels = { [name.mcpMethod]: 'tools/call', [name.tool]: operation.name };
    const end = call.transport === 'mcp' ? metering.time('toolCalls', { span, labels }) : span.end;
    try {
      const answer = await tracing.run(span.context, perform);
      if (answer.kind === 'stream') return endWithStream(answer, call, end);
      end(answer.kind === 'payment_required' ? answer.kind : undefined);
      return answer;
    } catch (error) {
      end(error instanceof AppError ? error.code : 'server_error');
      throw error;
    }
  };

const startSpan = (
  tracing: Tracing,
  operation: Parameters<ObserveOperation>[0],
  { transport, requestId, trace: carrier }: Call,
): OpenSpan => {
  const facts: Attributes = { [name.operation]: operation.name, [name.requestId]: requestId };
  if (transport !== 'mcp') return tracing.start(operation.name, { attributes: facts });
  const request = tracing.activeSpan();
  const parent = carrier?.['traceparent'] === undefined ? undefined : tracing.parentOf(carrier);
  return tracing.start(
    `tools/call ${operation.name}`,
    {
      kind: SpanKind.SERVER,
      attributes: {
        ...facts,
        [name.mcpMethod]: 'tools/call',
        [name.tool]: operation.name,
        [name.genAiOperation]: 'execute_tool',
      },
      // The message's own trace is its parent; the request that carried it is linked.
      links: parent === undefined || request === undefined ? [] : [{ context: request.spanContext() }],
    },
    parent,
  );
};

/** Ends the span with the last event, or when the client has gone. */
const endWithStream = (
  answer: Extract<Answer, { kind: 'stream' }>,
  { signal }: Call,
  end: (errorType?: string) => void,
): Answer => {
  let isOpen = true;
  const endOnce = (errorType?: string): void => {
    if (isOpen) end(errorType);
    isOpen = false;
  };
  signal.addEventListener('abort', () => endOnce('client_gone'), { once: true });
  return {
    ...answer,
    stream: async (send) => {
      try {
        await answer.stream(send);
        endOnce();
      } catch (error) {
        endOnce('server_error');
        throw error;
      }
    },
  };
};
