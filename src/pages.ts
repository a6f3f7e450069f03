import express from 'express';
import { clientAddress } from './auth/client-address.ts';
import { brandTitle } from './kit/brand-title.ts';
import { AppError, methodNotAllowed, messages } from './kit/errors.ts';
import { memoizeAsync } from './kit/memoize-async.ts';
import { writeError } from './kit/write-error.ts';
import { createSwitchedOff } from './operations/index.ts';
import { createOffered, offerOf } from './operations/sale-rules.ts';
import type { Operation } from './operations/definition.ts';
import { createServiceDescription, type ServiceDescription } from './rest/describe-service.ts';
import { homePage } from './rest/home-page.ts';
import { mcpServerDocument } from './rest/mcp-server-document.ts';
import { pageHeaders } from './rest/page-shell.ts';
import { homeType } from './rest/paywall/paywall-wanted.ts';
import { createServeResult } from './rest/serve-result.ts';
import { createWellKnown, wellKnownHeaders } from './rest/well-known.ts';
import type { GatewayServices } from './services.ts';

const documentHeaders = { ...pageHeaders, 'cache-control': 'no-cache' };

/** Answers GET and HEAD at a path; refuses other methods. */
type AddPage = (path: string, serve: express.RequestHandler) => void;

/** Serves what is no operation: the home page, health, documents and results. Any other path is answered with 404. */
export const createPages = (services: GatewayServices): express.Express => {
  const { config } = services;
  const pages = express();
  pages.disable('x-powered-by');
  pages.disable('etag');
  pages.enable('strict routing');
  pages.enable('case sensitive routing');
  const serveResult = createServeResult(services);
  const addPage: AddPage = (path, serve) => {
    pages.route(path).all((request, response, next) => {
      if (request.method === 'GET' || request.method === 'HEAD') return serve(request, response, next);
      throw methodNotAllowed('GET, HEAD');
    });
  };

  addFrontPages(addPage, services);
  addPage('/health/live', (_request, response) => void response.json({ status: 'live' }));
  addPage('/health/ready', async (_request, response) => {
    const readiness = await services.readiness();
    if (!readiness.ready) response.status(503).set('retry-after', '1');
    response.json(readiness);
  });
  addDocuments(addPage, services);
  for (const [path, read] of createWellKnown(services))
    addPage(path, async (_request, response, next) => {
      const text = await read();
      if (text === null) next();
      else response.set(wellKnownHeaders).type('application/json').send(text);
    });
  addPage('/results/:name', (request, response) =>
    serveResult(String(request.params['name']), {
      request,
      response,
      clientAddress: clientAddress(request, config.trustedProxyHops),
    }),
  );
  addRefusals(pages, services);
  return pages;
};

/** What the service tells of itself: bytes that are made anew when something changes. */
const addFrontPages = (addPage: AddPage, services: GatewayServices): void => {
  const made = new WeakMap<ServiceDescription, ReturnType<typeof makeFrontPages>>();
  const describe = createServiceDescription(services);
  const pages = () => {
    const description = describe();
    const known = made.get(description) ?? makeFrontPages(description);
    made.set(description, known);
    return known;
  };
  addPage('/', ({ headers }, response) => {
    const type = homeType(headers);
    response
      .set({ ...documentHeaders, 'access-control-allow-origin': '*', vary: 'Accept' })
      .type(type)
      .send(pages()[type]);
  });
  addPage('/llms.txt', (_request, response) => {
    response.set(wellKnownHeaders).type('text/plain').send(pages()['text/plain']);
  });
  addPage('/.well-known/mcp/server.json', (_request, response) => {
    response.set(wellKnownHeaders).type('application/json').send(pages().server);
  });
};

const makeFrontPages = (description: ServiceDescription) => {
  const { markdown, page, json } = homePage(description);
  const text = Buffer.from(markdown);
  return {
    'text/html': Buffer.from(page),
    'text/markdown': text,
    'text/plain': text,
    'application/json': Buffer.from(json),
    server: Buffer.from(JSON.stringify(mcpServerDocument(description), null, 2)),
  };
};

/** The description of the interface and the pages made from it. What makes them is loaded when they are first read. */
const addDocuments = (addPage: AddPage, services: GatewayServices): void => {
  const documents = createOffered(services.operations, services, (operations) => {
    const openApi = memoizeAsync(() => makeOpenApi(operations, services));
    const docs = memoizeAsync(async () => {
      const { createDocsPage } = await import('./rest/docs/docs-page.ts');
      return createDocsPage(await openApi());
    });
    return { openApi, docs };
  });
  addPage('/openapi.json', async (_request, response) => {
    response
      .set('access-control-allow-origin', '*')
      .type('application/json')
      .send(await documents().openApi());
  });
  for (const path of ['/docs', '/docs/style.css'] as const)
    addPage(path, async (_request, response) => {
      const { type, body } = (await documents().docs())[path];
      response.set(documentHeaders).type(type).send(body);
    });
};

const makeOpenApi = async (operations: readonly Operation[], services: GatewayServices): Promise<string> => {
  const { config, publicUrl } = services;
  const { createOpenApi } = await import('./rest/openapi.ts');
  const { loadPaymentRequiredSchema } = await import('./payments/core/payment-required-schema.ts');
  const paymentRequiredSchema = await loadPaymentRequiredSchema();
  return JSON.stringify(
    createOpenApi({
      operations: operations.map((operation) => {
        const { sale } = operation;
        return sale.kind === 'signIn'
          ? operation
          : { ...operation, price: offerOf(sale)?.priceRange(services) ?? null };
      }),
      publicUrl: publicUrl(),
      title: brandTitle(config),
      speaksMpp: config.x402.speaksMpp,
      paymentRequiredSchema,
    }),
  );
};

/** A switched-off sale, payments of strangers, and paths where nothing is. */
const addRefusals = (pages: express.Express, { config, x402, log }: GatewayServices): void => {
  for (const { rest, sale, title } of createSwitchedOff(config.search))
    pages.all(rest.path, () => {
      const goods = offerOf(sale)?.unit.one ?? title;
      throw new AppError('not_found', `The ${goods} is switched off on this server.`);
    });
  // The facilitator in this process settles for nobody else.
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
