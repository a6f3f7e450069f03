import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { randomUUID } from 'node:crypto';
import express from 'express';
import { createAuthenticate } from './auth/authenticate.ts';
import { clientAddress } from './auth/client-address.ts';
import { brandTitle } from './kit/brand-title.ts';
import { AppError, methodNotAllowed, messages } from './kit/errors.ts';
import { createMcpMount, type McpRequestFacts } from './mcp/mount-mcp.ts';
import { logRequest, type RequestNote } from './kit/log-request.ts';
import { loadPaymentRequiredSchema } from './payments/core/payment-required-schema.ts';
import { discardUnread } from './rest/discard-unread.ts';
import { createDocsPage, docsHeaders, docsPaths } from './rest/docs/docs-page.ts';
import { createOffered } from './operations/is-on-sale.ts';
import { createSwitchedOff } from './operations/index.ts';
import type { Operation } from './operations/operation.ts';
import { homePage } from './rest/home-page.ts';
import { createOpenApi } from './rest/openapi.ts';
import { memoizeAsync } from './kit/memoize-async.ts';
import { isPaywallWanted } from './rest/paywall/paywall-wanted.ts';
import { refuseConnect, refuseUnreadable } from './rest/refuse-unreadable.ts';
import { createRestRoutes, type RequestContext } from './rest/rest-routes.ts';
import { createServeResult } from './rest/serve-result.ts';
import { createWellKnown, wellKnownHeaders } from './rest/well-known.ts';
import { writeError } from './kit/write-error.ts';
import type { GatewayServices } from './services.ts';

export interface App {
  /** The server, before it listens. */
  readonly server: Server;
  /** Refuses new requests with 503 from now on; running ones continue. */
  refuseNew(): void;
}

/**
 * Creates the HTTP server. Operations and MCP use node's own request and response. Express serves the rest: health,
 * documents, results, unknown paths.
 */
export const createApp = (services: GatewayServices): App => {
  const { log, config, store, operations } = services;
  const authenticate = createAuthenticate({ store });
  const serveRest = createRestRoutes(operations, services);
  const serveMcp = createMcpMount({ services, operations });
  const pages = createPages(services);
  let isRefusing = false;

  const answer = (request: IncomingMessage, response: ServerResponse, serve: typeof route): void => {
    const requestId = `req_${randomUUID()}`;
    response.setHeader('x-request-id', requestId);
    const note = logRequest(request, response, { log, requestId });
    discardUnread(request, response);
    try {
      serve(request, response, toContext(request, requestId, note));
    } catch (error) {
      writeError(response, error, { log, requestId });
    }
  };

  const route = (
    request: IncomingMessage,
    response: ServerResponse,
    context: RequestContext & McpRequestFacts,
  ): void => {
    if (request.httpVersion === '1.1' && request.headers.host === undefined)
      throw new AppError('invalid_value', 'The Host header is missing. HTTP/1.1 requires it.', {
        headers: { connection: 'close' },
      });
    const isHealth = context.url.pathname.startsWith('/health/');
    if (isRefusing && !isHealth)
      throw new AppError('shutting_down', messages.shutting_down, {
        headers: { connection: 'close' },
      });
    if (serveRest(request, response, context)) return;
    if (serveMcp(request, response, context)) return;
    pages(request, response);
  };

  const refuseExpectation = (): never => {
    throw new AppError('expectation_failed', messages.expectation_failed);
  };

  const toContext = (
    request: IncomingMessage,
    requestId: string,
    note: RequestNote,
  ): RequestContext & McpRequestFacts => ({
    requestId,
    note,
    url: readUrl(request),
    clientAddress: clientAddress(request, config.trustedProxyHops),
    authenticate: async () => {
      const caller = await authenticate(request.headers.authorization);
      if (caller !== null) note.account = caller.accountId;
      return caller;
    },
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
    refuseNew: () => {
      isRefusing = true;
    },
  };
};

/** Enough for the longest accepted payment proof and the other headers. */
const maxHeaderSize = 32_768;

const readUrl = ({ url = '/' }: IncomingMessage): URL => {
  if (!url.startsWith('/') || !URL.canParse(url, 'http://localhost'))
    throw new AppError('not_found', 'There is nothing at this address.');
  return new URL(`http://localhost${url}`);
};

const createPages = (services: GatewayServices): express.Express => {
  const { config } = services;
  const pages = express();
  pages.disable('x-powered-by');
  pages.disable('etag');
  pages.enable('strict routing');
  pages.enable('case sensitive routing');
  const serveResult = createServeResult(services);
  const documents = createOffered(services.operations, services, (operations) => {
    const openApi = memoizeAsync(() => makeOpenApi(operations, services));
    return { openApi, docs: memoizeAsync(async () => createDocsPage(await openApi())) };
  });

  /** Answers GET and HEAD at a path; refuses other methods. */
  const addPage = (path: string, serve: express.RequestHandler): void => {
    pages.route(path).all((request, response, next) => {
      if (request.method === 'GET' || request.method === 'HEAD') return serve(request, response, next);
      throw methodNotAllowed('GET, HEAD');
    });
  };

  addPage('/', ({ headers }, response) => {
    const { page, text } = homePage(services.operations, services);
    const isPage = isPaywallWanted(headers);
    response
      .set({ ...docsHeaders, vary: 'Accept' })
      .type(isPage ? 'text/html' : 'text/plain')
      .send(isPage ? page : text);
  });
  addPage('/health/live', (_request, response) => void response.json({ status: 'live' }));
  addPage('/health/ready', async (_request, response) => {
    const readiness = await services.readiness();
    if (!readiness.ready) response.status(503).set('retry-after', '1');
    response.json(readiness);
  });
  addPage('/openapi.json', async (_request, response) => {
    response
      .set('access-control-allow-origin', '*')
      .type('application/json')
      .send(await documents().openApi());
  });
  for (const path of docsPaths)
    addPage(path, async (_request, response) => {
      const { contentType, body } = (await documents().docs())[path];
      response.set(docsHeaders).type(contentType).send(body);
    });
  for (const { rest, sale, title } of createSwitchedOff(config.search))
    pages.all(rest.path, () => {
      const goods = sale?.x402?.unit.one ?? title;
      throw new AppError('not_found', `The ${goods} is switched off on this server.`);
    });
  for (const [path, read] of createWellKnown(services))
    addPage(path, async (_request, response, next) => {
      const text = await read();
      if (text === null) next();
      else response.set(wellKnownHeaders).type('application/json').send(text);
    });
  refuseStrangersPayments(pages, services);
  addPage('/results/:name', (request, response) =>
    serveResult(String(request.params['name']), {
      request,
      response,
      clientAddress: clientAddress(request, config.trustedProxyHops),
    }),
  );
  addErrorPages(pages, services);
  return pages;
};

/** The facilitator in this process settles for nobody else. */
const refuseStrangersPayments = (pages: express.Express, { x402 }: GatewayServices): void => {
  pages.route(['/x402/verify', '/x402/settle']).all(({ method }, _response, next) => {
    if (x402.supported() === null) next();
    else if (method !== 'POST') throw methodNotAllowed('POST');
    else
      throw new AppError(
        'facilitator_not_public',
        'This facilitator settles the payments of this service alone. Send the payment with the request that it pays ' +
          'for; for payments of your own, use a public facilitator.',
      );
  });
};

const addErrorPages = (pages: express.Express, { log }: GatewayServices): void => {
  pages.use(() => {
    throw new AppError('not_found', messages.not_found);
  });
  // Express knows an error handler by its four parameters.
  pages.use(
    (error: unknown, _request: express.Request, response: express.Response, _next: express.NextFunction) => {
      // A path that cannot be decoded.
      const shown =
        error instanceof URIError ? new AppError('not_found', 'There is nothing at this address.') : error;
      writeError(response, shown, { log, requestId: String(response.getHeader('x-request-id')) });
    },
  );
};

const makeOpenApi = async (
  operations: readonly Operation[],
  { config, publicUrl }: GatewayServices,
): Promise<string> =>
  JSON.stringify(
    createOpenApi({
      operations,
      publicUrl: publicUrl(),
      title: brandTitle(config),
      paymentRequiredSchema: await loadPaymentRequiredSchema(),
    }),
  );
