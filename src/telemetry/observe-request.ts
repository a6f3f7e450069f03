import { SpanKind } from '@opentelemetry/api';
import { createPathMatcher } from '../kit/path-matcher.ts';
import type { Operation } from '../operations/definition.ts';
import type { Metering } from './metering.ts';
import { spanAttributes as name } from './names.ts';
import type { Telemetry } from './telemetry.ts';
import type { Tracing } from './tracing.ts';

/** Addresses that are no operations, by their beginning. Anything else is `other`: strangers invent addresses. */
const pages = [
  '/mcp',
  '/health/live',
  '/health/ready',
  '/results/',
  '/docs',
  '/openapi.json',
  '/.well-known/',
  '/admin/',
];

/** Watches requests over HTTP from their beginning until the last byte of the answer. */
export const createObserveRequest = (
  operations: readonly Operation[],
  { tracing, metering }: { tracing: Tracing; metering: Metering },
): Telemetry['observeRequest'] => {
  const routeOf = createRouteOf(operations.map(({ rest }) => rest.path));
  return ({ request, response, note }, serve) => {
    const startedAt = performance.now();
    const { method = '', url = '/', headers } = request;
    const route = routeOf(url.replace(/[?#].*/s, ''));
    const facts = { [name.method]: knownMethods.has(method) ? method : '_OTHER', [name.route]: route };
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
