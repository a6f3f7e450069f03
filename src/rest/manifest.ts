import packageJson from '../../package.json' with { type: 'json' };
import type { JsonObject } from '../kit/json.ts';
import { namesOf, type Good, type ServiceDescription } from './describe-service.ts';

/**
 * Makes what `/.well-known/x402` answers: `version` and `resources` as x402scan reads them, `x402Version`, `lastUpdated`
 * and `items` as x402's draft of such a manifest has them. The resources are those that answer a plain GET with 402. All
 * of it is advice: the terms of a 402 are what counts. `now` is in epoch milliseconds.
 */
export const manifest = ({ goods, url }: ServiceDescription, now: number): object => ({
  version: 1,
  x402Version: 2,
  lastUpdated: Math.floor(now / 1000),
  resources: goods.filter(({ method }) => method === 'GET').map((good) => good.url),
  items: goods.flatMap((good) => toItems(good, url)),
  openapi: `${url}/openapi.json`,
  mcp: `${url}/mcp`,
  instructions:
    (goods.some(({ accepts }) => accepts.length > 0) ? '' : 'No payment network can be reached now. ') +
    `${oneOfEach(goods).map(instructionFor).join('. ')}; pay them and send the same request again with the proof in ` +
    'PAYMENT-SIGNATURE, or over MCP in _meta["x402/payment"]. No account is needed.',
});

/** The goods of one sale are called in the same way. */
const oneOfEach = (goods: readonly Good[]): Good[] =>
  goods.filter((good, index) => goods.findIndex(({ sale }) => sale === good.sale) === index);

const toItems = (
  { sale, notice, price, accepts, url, method, isTool, name, title }: Good,
  serviceUrl: string,
): object[] => {
  const { inputSchemas, outputExample, serviceName, tags, path } = sale;
  const mimeType = 'application/json';
  const description = sale.descriptions[notice === null ? 'real' : 'sandbox'];
  const resource = { description, mimeType, serviceName, tags };
  const common = {
    accepts,
    // Nobody can pay a price that no network takes now.
    ...(accepts.length === 0 ? {} : { price: { currency: 'USD', ...price } }),
    output: { mimeType, example: outputExample },
  };
  const body =
    method === 'GET' ? { queryParams: inputSchemas.rest } : { bodyType: 'json', body: inputSchemas.rest };
  const http = {
    resource: { url, ...resource },
    type: 'http',
    ...common,
    input: { method, routeTemplate: path, ...body },
  };
  if (!isTool) return [http];
  const input = {
    toolName: name,
    description: title,
    transport: 'streamable-http',
    inputSchema: inputSchemas.mcp,
  };
  return [http, { resource: { url: `${serviceUrl}/mcp`, ...resource }, type: 'mcp', ...common, input }];
};

const instructionFor = ({ method, url, isTool, name, price: { min, max }, accepts, sale }: Good): string => {
  const range = max === null ? `from ${min}, without a maximum,` : min === max ? min : `${min} to ${max}`;
  return (
    `Send ${method} ${url} with the ${method === 'GET' ? 'query parameters' : 'JSON body'} of your ${sale.unit}` +
    `${isTool ? `, or call the MCP tool ${name}` : ''}. Without payment it answers 402 with the exact terms` +
    (accepts.length === 0 ? '' : ` (${range} USD in USDC)`)
  );
};

const serverSchema = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';

/** The registry takes no longer descriptions. */
const maxDescription = 100;

/** Makes the `server.json` of the MCP registry, which operators may publish as it is. */
export const mcpServerDocument = ({ brand, title, url, goods }: ServiceDescription): JsonObject => ({
  $schema: serverSchema,
  name: `${reverseHost(url)}/${brand}`,
  title,
  description: descriptionOf(goods),
  version: packageJson.version,
  websiteUrl: url,
  remotes: [
    {
      type: 'streamable-http',
      url: `${url}/mcp`,
      headers: [
        {
          name: 'Authorization',
          description: goods.length === 0 ? 'An API key.' : 'An API key. Paid calls need none.',
          isRequired: goods.length === 0,
          isSecret: true,
          value: 'Bearer {api_key}',
          variables: { api_key: { description: 'API key', isRequired: goods.length === 0, isSecret: true } },
        },
      ],
    },
  ],
});

const descriptionOf = (goods: ServiceDescription['goods']): string => {
  const whole = ['Makes images, video and text', ...namesOf(goods)].join(', ');
  const paid = `${whole}; paid by API key or x402`;
  return [goods.length === 0 ? whole : paid, whole].find(({ length }) => length <= maxDescription) ?? '';
};

/** Returns the namespace of a server: the host with its labels in reverse order. An address in numbers has none. */
const reverseHost = (url: string): string => {
  const { hostname } = new URL(url);
  return /[a-z]$/.test(hostname) ? hostname.split('.').toReversed().join('.') : 'localhost';
};
