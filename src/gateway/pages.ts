import express from 'express';
import { connectionResources } from '../accounts/connection-resources.ts';
import { clientAddress } from './client-address.ts';
import { brandTitle } from '../kit/text.ts';
import { AppError, methodNotAllowed, messages } from '../kit/errors.ts';
import { memoizeAsync } from '../kit/memoize.ts';
import { writeError } from '../kit/write-answer.ts';
import { createSwitchedOff } from '../operations/index.ts';
import { createOffered, offerOf } from '../operations/sale-rules.ts';
import type { Operation } from '../operations/definition.ts';
import { createServiceDescription, type ServiceDescription } from '../rest/describe-service.ts';
import { homePage } from '../rest/home-page.ts';
import { icon, iconPath } from '../kit/icon.ts';
import { manifest, mcpServerDocument } from '../rest/manifest.ts';
import { mcpPage } from '../rest/mcp-page.ts';
import { pageHeaders, policyWith, scriptSource } from '../rest/page-shell.ts';
import { homeType } from '../rest/paywall/paywall-wanted.ts';
import { createServeFilm } from '../rest/serve-film.ts';
import { createServeResult } from '../rest/serve-result.ts';
import type { GatewayServices } from './services.ts';

const documentHeaders = { ...pageHeaders, 'cache-control': 'no-cache' };

/** Readable from any page, and cached until the facilitators are asked again. */
const wellKnownHeaders = {
  'access-control-allow-origin': '*',
  'cache-control': 'public, max-age=300',
  'x-content-type-options': 'nosniff',
};

/** Addresses of the manifest for crawlers: the first for x402scan, the second by x402's draft. */
const manifestPaths = ['/.well-known/x402', '/.well-known/x402.json'];

/** Addresses of did:web: for a host, and for a base URL with a path, which a proxy removes. */
const didPaths = ['/.well-known/did.json', '/did.json'];

/** MCP addresses, which browsers get as a page. */
const mcpPaths = ['/mcp', ...connectionResources.keys(), '/mcp/search', '/mcp/generation'];

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
  const serveFilm = createServeFilm(services);
  const addPage: AddPage = (path, serve) => {
    pages.route(path).all((request, response, next) => {
      if (request.method === 'GET' || request.method === 'HEAD') return serve(request, response, next);
      throw methodNotAllowed('GET, HEAD');
    });
  };

  // Documents name the tools that are offered now, or were when the store could be read last.
  const addFresh: AddPage = (path, serve) =>
    addPage(path, async (request, response, next) => {
      await services.mounts
        .offered()
        .catch((error: unknown) =>
          services.log.debug({ err: error }, 'the accepted tools could not be read'),
        );
      return serve(request, response, next);
    });
  addFrontPages(addFresh, services);
  addPage('/health/live', (_request, response) => void response.json({ status: 'live' }));
  addPage('/health/ready', async (_request, response) => {
    const readiness = await services.readiness();
    if (!readiness.ready) response.status(503).set('retry-after', '1');
    response.json(readiness);
  });
  addDocuments(addFresh, services);
  if (services.x402.sales.length > 0) {
    // Follows the facilitator's address in the terms.
    addWellKnown(addPage, '/x402/supported', services.x402.supported);
  }
  for (const path of didPaths) addWellKnown(addPage, path, services.x402.didDocument);
  addPage('/results/:name', (request, response) =>
    serveResult(String(request.params['name']), {
      request,
      response,
      clientAddress: clientAddress(request, config.trustedProxyHops),
    }),
  );
  addPage('/films/:token', (request, response) =>
    serveFilm(String(request.params['token']), { request, response }),
  );
  addRefusals(pages, services);
  return pages;
};

/** A document that programs look for at a known address; 404 while there is none. */
const addWellKnown = (
  addPage: AddPage,
  path: string,
  read: () => string | Buffer | null | Promise<string | null>,
): void =>
  addPage(path, async (_request, response, next) => {
    const text = await read();
    if (text === null) next();
    else response.set(wellKnownHeaders).type('application/json').send(text);
  });

/** The documents about the service: bytes that are made again when something changes. */
const addFrontPages = (addPage: AddPage, services: GatewayServices): void => {
  const made = new WeakMap<ServiceDescription, ReturnType<typeof makeFrontPages>>();
  const describe = createServiceDescription(services);
  const pages = () => {
    const description = describe();
    const known = made.get(description) ?? makeFrontPages(description, services.clock.now());
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
  for (const path of mcpPaths) {
    const root = '../'.repeat(path.split('/').length - 2) || './';
    addPage(path, (_request, response) => {
      response
        .set({ ...documentHeaders, vary: 'Accept' })
        .type('text/html')
        .send(mcpPage(describe(), root));
    });
  }
  addPage(iconPath, (_request, response) => void response.set(wellKnownHeaders).type('svg').send(icon));
  addPage('/llms.txt', (_request, response) => {
    response.set(wellKnownHeaders).type('text/plain').send(pages()['text/plain']);
  });
  addWellKnown(addPage, '/.well-known/mcp/server.json', () => pages().server);
  if (services.x402.sales.length > 0)
    for (const path of manifestPaths) addWellKnown(addPage, path, () => pages().manifest);
};

const makeFrontPages = (description: ServiceDescription, now: number) => {
  const { markdown, page, json } = homePage(description);
  const text = Buffer.from(markdown);
  return {
    'text/html': Buffer.from(page),
    'text/markdown': text,
    'text/plain': text,
    'application/json': Buffer.from(json),
    server: Buffer.from(JSON.stringify(mcpServerDocument(description), null, 2)),
    manifest: description.goods.length === 0 ? null : Buffer.from(JSON.stringify(manifest(description, now))),
  };
};

/** The description of the interface and its pages, made anew when an operation or a price changes. */
const addDocuments = (addPage: AddPage, services: GatewayServices): void => {
  const offered = createOffered(services.operations, services, (operations) => operations);
  let made: { key: string; documents: ReturnType<typeof makeDocuments> } | null = null;
  const documents = () => {
    const operations = offered().map((operation) => withPrice(operation, services));
    const key = operations.map(({ name, price }) => `${name} ${price?.least} ${price?.most}`).join();
    if (made?.key !== key) made = { key, documents: makeDocuments(operations, services) };
    return made.documents;
  };
  addPage('/openapi.json', async (_request, response) => {
    response
      .set('access-control-allow-origin', '*')
      .type('application/json')
      .send(await documents().openApi());
  });
  for (const path of ['/docs', '/docs/style.css'] as const)
    addPage(path, async (_request, response) => {
      const { type, body, script } = (await documents().docs())[path];
      response.set(documentHeaders);
      if (script !== undefined) response.set('content-security-policy', policyWith(scriptSource(script)));
      response.type(type).send(body);
    });
};

/** Adds what can be paid for a call; null: none can be bought. */
const withPrice = (operation: Operation, { x402 }: GatewayServices) => {
  const sale = x402.sales.find(({ name }) => name === operation.name);
  if (sale === undefined || sale.isFree === true) return operation;
  const range = sale.price();
  return { ...operation, price: range && x402.payable(range).price };
};

const makeDocuments = (operations: readonly Operation[], services: GatewayServices) => {
  const openApi = memoizeAsync(() => makeOpenApi(operations, services));
  const docs = memoizeAsync(async () => {
    const { createDocsPage } = await import('../rest/docs/docs-page.ts');
    return createDocsPage(await openApi());
  });
  return { openApi, docs };
};

const makeOpenApi = async (operations: readonly Operation[], services: GatewayServices): Promise<string> => {
  const { config, publicUrl } = services;
  const { createOpenApi } = await import('../rest/openapi.ts');
  const { loadPaymentRequiredSchema } = await import('../payments/wire/payment-required-schema.ts');
  return JSON.stringify(
    createOpenApi({
      operations,
      publicUrl: publicUrl(),
      title: brandTitle(config),
      protocols: ['x402', ...config.x402.dialects.map(({ name }) => name)],
      paymentRequiredSchema: await loadPaymentRequiredSchema(),
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
