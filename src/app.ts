import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { randomUUID } from 'node:crypto';
import express from 'express';
import { createAuthenticate } from './auth/authenticate.ts';
import { clientAddress } from './auth/client-address.ts';
import { brandTitle } from './config.ts';
import { AppError } from './errors.ts';
import { createMcpMount } from './mcp/mount-mcp.ts';
import { loadPaymentRequiredSchema } from './payments/payment-required-schema.ts';
import { discardUnread } from './rest/discard-unread.ts';
import { createDocsPage, docsHeaders, docsPaths } from './rest/docs-page.ts';
import { createOpenApi } from './rest/openapi.ts';
import { once } from './once.ts';
import { refuseUnreadable } from './rest/refuse-unreadable.ts';
import { createRestRoutes, type RequestContext } from './rest/rest-routes.ts';
import { createServeResult } from './rest/serve-result.ts';
import { createWellKnown, wellKnownHeaders } from './rest/well-known.ts';
import { writeError } from './rest/write-error.ts';
import type { GatewayServices } from './services.ts';

export interface App {
  /** Not yet listening. */
  readonly server: Server;
  /** Refuses new requests from now on with 503; running ones go on. */
  refuseNew(): void;
}

/**
 * The HTTP server: operations and MCP on node's own request and response, ahead of express, which frames
 * the rest (health, documents, results, unknown paths).
 */
export const createApp = (services: GatewayServices): App => {
  const { log, config, store, operations } = services;
  const authenticate = createAuthenticate({ store });
  const serveRest = createRestRoutes(operations, services);
  const serveMcp = createMcpMount({ services, operations, authenticate });
  const pages = createPages(services);
  let isRefusing = false;

  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const requestId = `req_${randomUUID()}`;
    response.setHeader('x-request-id', requestId);
    discardUnread(request, response);
    try {
      const context = toContext(request, requestId);
      const isHealth = context.url.pathname.startsWith('/health/');
      if (isRefusing && !isHealth)
        throw new AppError('shutting_down', 'The service is restarting. Try again.', {
          headers: { connection: 'close' },
        });
      if (serveRest(request, response, context)) return;
      if (serveMcp(request, response, context)) return;
      pages(request, response);
    } catch (error) {
      writeError(response, error, { log, requestId });
    }
  };

  const toContext = (request: IncomingMessage, requestId: string): RequestContext => ({
    requestId,
    url: readUrl(request),
    clientAddress: clientAddress(request, config.trustedProxyHops),
    authenticate: () => authenticate(request.headers.authorization),
  });

  const server = createServer(
    { keepAliveTimeout: 65_000, headersTimeout: 60_000, requestTimeout: 300_000, maxHeaderSize },
    handle,
  );
  server.on('clientError', refuseUnreadable);
  return {
    server,
    refuseNew: () => {
      isRefusing = true;
    },
  };
};

/** Room for a payment proof of any length that is read, beside other headers. */
const maxHeaderSize = 32_768;

const readUrl = ({ url = '/' }: IncomingMessage): URL => {
  if (!url.startsWith('/') || !URL.canParse(url, 'http://localhost'))
    throw new AppError('not_found', 'There is nothing at this address.');
  return new URL(`http://localhost${url}`);
};

const createPages = (services: GatewayServices): express.Express => {
  const { log, config } = services;
  const pages = express();
  pages.disable('x-powered-by');
  pages.disable('etag');
  const requestIdOf = (response: express.Response): string => String(response.getHeader('x-request-id'));
  const serveResult = createServeResult(services);
  const openApi = once(() => makeOpenApi(services));
  const docs = once(async () => createDocsPage(await openApi()));

  pages.get('/health/live', (_request, response) => void response.json({ status: 'live' }));
  pages.get('/health/ready', async (_request, response) => {
    const readiness = await services.readiness();
    response
      .status(readiness.ready ? 200 : 503)
      .set('retry-after', '1')
      .json(readiness);
  });
  pages.get('/openapi.json', async (_request, response) => {
    response
      .set('access-control-allow-origin', '*')
      .type('application/json')
      .send(await openApi());
  });
  for (const path of docsPaths)
    pages.get(path, async (_request, response) => {
      const { contentType, body } = (await docs())[path];
      response.set(docsHeaders).type(contentType).send(body);
    });
  for (const [path, read] of createWellKnown(services.x402))
    pages.get(path, async (_request, response, next) => {
      const text = await read();
      if (text === null) next();
      else response.set(wellKnownHeaders).type('application/json').send(text);
    });
  pages.get('/results/:name', (request, response) =>
    serveResult(request.params.name, {
      request,
      response,
      requestId: requestIdOf(response),
      clientAddress: clientAddress(request, config.trustedProxyHops),
    }),
  );
  pages.use((_request: express.Request, response: express.Response) => {
    const error = new AppError('not_found', 'There is nothing at this address. See /openapi.json.');
    writeError(response, error, { log, requestId: requestIdOf(response) });
  });
  // Express knows an error handler by its four parameters.
  pages.use(
    (error: unknown, _request: express.Request, response: express.Response, _next: express.NextFunction) => {
      const isBadPath =
        error instanceof URIError || (error instanceof Error && 'status' in error && error.status === 400);
      const shown = isBadPath ? new AppError('not_found', 'There is nothing at this address.') : error;
      writeError(response, shown, { log, requestId: requestIdOf(response) });
    },
  );
  return pages;
};

const makeOpenApi = async ({ config, operations, publicUrl }: GatewayServices): Promise<string> =>
  JSON.stringify(
    createOpenApi({
      operations,
      publicUrl: publicUrl(),
      title: brandTitle(config),
      paymentRequiredSchema: await loadPaymentRequiredSchema(),
    }),
  );
