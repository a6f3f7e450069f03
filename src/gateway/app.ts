import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { randomUUID } from 'node:crypto';
import {
  createAuthenticate,
  createAuthenticateConnection,
  type Authenticate,
} from '../accounts/authenticate.ts';
import { clientAddress } from './client-address.ts';
import { AppError, messages } from '../kit/errors.ts';
import { memoizeAsync } from '../kit/memoize.ts';
import type { McpRequestFacts } from '../mcp/mount-mcp.ts';
import { logRequest, type RequestNote } from '../kit/log-request.ts';
import { discardUnread } from '../rest/read-json-body.ts';
import { isPaywallWanted } from '../rest/paywall/paywall-wanted.ts';
import { refuseConnect, refuseUnreadable } from '../rest/refuse-unreadable.ts';
import { toProviderPath } from '../rest/connect/provider-path.ts';
import { createRestRoutes, type RequestContext } from '../rest/rest-routes.ts';
import { serveStripe } from '../rest/stripe-webhook.ts';
import { inTurn, writeError } from '../kit/write-answer.ts';
import type { GatewayServices } from './services.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

// An import of this module would load Node's second HTTP client too, which takes 8 MB.
const { createServer } = process.getBuiltinModule('node:http');

export interface App {
  /** The server, before it listens. */
  readonly server: Server;
  /** Refuses new requests with 503 from now on; running ones continue, but for the streams of the console. */
  refuseNew(): void;
}

type AppContext = RequestContext & McpRequestFacts;

/** Operations and MCP use node's own request and response; Express serves health, documents, results, unknown paths. */
export const createApp = (services: GatewayServices): App => {
  const { log, config, operations, telemetry } = services;
  const authenticate = createAuthenticate(services);
  const authenticateConnection = createAuthenticateConnection(services);
  const serveRest = createRestRoutes(operations, services);
  const refusing = new AbortController();
  const serveLater = createServeLater(services, { authenticate, serveRest, refusing: refusing.signal });
  // The line of a request has no secrets, and looking for them takes longer than writing it.
  const requestLog = log.child({}, { redact: [] });
  const watch = telemetry?.observeRequest ?? serveUnwatched;

  const answer = inTurn((request: IncomingMessage, response: ServerResponse, serve: typeof route): void => {
    const requestId = `req_${randomUUID()}`;
    response.setHeader('x-request-id', requestId);
    const note = logRequest(request, response, { log: requestLog, requestId });
    discardUnread(request, response);
    watch({ request, response, note }, () => {
      try {
        serve(request, response, toContext(request, requestId, note));
      } catch (error) {
        writeError(response, error, { log, requestId });
      }
    });
  });

  const route = (request: IncomingMessage, response: ServerResponse, context: AppContext): void => {
    if (request.httpVersion === '1.1' && request.headers.host === undefined)
      throw new AppError('invalid_value', 'The Host header is missing. HTTP/1.1 requires it.', {
        headers: { connection: 'close' },
      });
    const isHealth = context.url.pathname.startsWith('/health/');
    if (refusing.signal.aborted && !isHealth)
      throw new AppError('shutting_down', messages.shutting_down, {
        headers: { connection: 'close' },
      });
    if (serveRest(request, response, context)) return;
    void serveLater(request, response, context);
  };

  const toContext = (request: IncomingMessage, requestId: string, note: RequestNote): AppContext => ({
    requestId,
    note,
    url: readUrl(request),
    clientAddress: clientAddress(request, config.trustedProxyHops),
    authenticate,
    authenticateConnection,
  });

  const server = createServer(
    {
      keepAliveTimeout: 65_000,
      headersTimeout: 60_000,
      requestTimeout: 300_000,
      maxHeaderSize,
      // Node's own refusal would have no body and no request id.
      requireHostHeader: false,
    },
    (request, response) => answer(request, response, route),
  );
  server.on('checkExpectation', (request, response) => answer(request, response, refuseExpectation));
  server.on('clientError', refuseUnreadable);
  server.on('connect', (_request, socket) => refuseConnect(socket));
  return {
    server,
    refuseNew: () => refusing.abort(),
  };
};

const serveUnwatched: Telemetry['observeRequest'] = (_exchange, serve) => serve();

const refuseExpectation = (): never => {
  throw new AppError('expectation_failed', messages.expectation_failed);
};

interface ServeLaterOptions {
  authenticate: Authenticate;
  serveRest: ReturnType<typeof createRestRoutes>;
  /** Aborts when new requests are refused. */
  refusing: AbortSignal;
}

/** Serves MCP, the operator's API, the console and pages. Their modules are loaded with the first request, because a gateway may have none. */
const createServeLater = (
  services: GatewayServices,
  { authenticate, serveRest, refusing }: ServeLaterOptions,
) => {
  const loadMcp = memoizeAsync(async () => {
    const { createMcpMount } = await import('../mcp/mount-mcp.ts');
    return createMcpMount({ services, operations: services.operations });
  });
  const loadOperator = memoizeAsync(async () =>
    (await import('../operator/operator-mount.ts')).createOperatorMount(services),
  );
  const loadOAuth = memoizeAsync(async () =>
    (await import('../rest/connect/mount-oauth.ts')).createOAuthMount({ ...services, authenticate }),
  );
  const loadConsole = memoizeAsync(async () =>
    (await import('../rest/console/mount-console.ts')).createConsoleMount({ ...services, refusing }),
  );
  const serveConsole = async (request: IncomingMessage, response: ServerResponse, context: AppContext) => {
    const serve = await loadConsole();
    const call = await serve(request, response, context).catch(async (error: unknown) => {
      const isSignIn = request.method === 'POST' && context.url.pathname === '/console/session';
      if (!isSignIn) throw error;
      // Wrong keys of operators are tried here, too.
      return (await loadOperator()).refuseStranger(error, 'sign_in_to_console', context);
    });
    if (call === null || response.destroyed) return;
    if (call.role === 'operator') return (await loadOperator()).serve(request, response, call);
    if (!serveRest(request, response, call)) throw new AppError('not_found', messages.not_found);
  };
  const loadPay = memoizeAsync(async () =>
    (await import('../rest/paywall/mount-pay.ts')).createPayMount(services),
  );
  const loadPages = memoizeAsync(async () => (await import('./pages.ts')).createPages(services));
  return async (request: IncomingMessage, response: ServerResponse, context: AppContext): Promise<void> => {
    try {
      const isMcp = context.url.pathname.startsWith('/mcp') && !isFromBrowser(request);
      const serveMcp = isMcp ? await loadMcp() : null;
      // The client may have left meanwhile.
      if (response.destroyed || serveMcp?.(request, response, context) === true) return;
      if (/^\/admin\/v1(?:\/|$)/.test(context.url.pathname))
        return await (await loadOperator()).serve(request, response, context);
      if (services.config.hasConsole && /^\/console(?:\/|$)/.test(context.url.pathname))
        return await serveConsole(request, response, context);
      if (services.x402.sales.length > 0 && /^\/pay(?:\/|$)/.test(context.url.pathname)) {
        const servePay = await loadPay();
        return await servePay(request, response, context);
      }
      if (services.cards !== null && context.url.pathname === '/webhooks/stripe')
        return await serveStripe(request, response, services.cards);
      const providerPath = toProviderPath(context.url.pathname);
      if (providerPath !== null) {
        const serveOAuth = await loadOAuth();
        return await serveOAuth(request, response, {
          path: providerPath,
          clientAddress: context.clientAddress,
        });
      }
      const pages = await loadPages();
      if (!response.destroyed) pages(request, response);
    } catch (error) {
      writeError(response, error, { log: services.log, requestId: context.requestId });
    }
  };
};

/** A person who opens an address, and no program. */
const isFromBrowser = ({ method, headers }: IncomingMessage): boolean =>
  (method === 'GET' || method === 'HEAD') && isPaywallWanted(headers);

/** Enough for the longest accepted payment proof and the other headers. */
const maxHeaderSize = 32_768;

/**
 * Reads the address of a request. Its path must be written as it is read: for backslashes and dot segments, which the
 * parser resolves, a proxy's guard of a path would see another one.
 */
const readUrl = ({ url = '/' }: IncomingMessage): URL => {
  const parsed = url.startsWith('/') ? URL.parse(`http://localhost${url}`) : null;
  if (parsed === null || !isPathOf(parsed.pathname, url))
    throw new AppError('not_found', 'There is nothing at this address.');
  return parsed;
};

const isPathOf = (path: string, target: string): boolean =>
  target.startsWith(path) && (target.length === path.length || '?#'.includes(target.charAt(path.length)));
