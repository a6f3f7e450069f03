import type { Good, ServiceDescription } from './describe-service.ts';

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
  const { inputSchema, outputExample, serviceName, tags, path } = sale;
  const mimeType = 'application/json';
  const description = sale.descriptions[notice === null ? 'real' : 'sandbox'];
  const resource = { description, mimeType, serviceName, tags };
  const common = {
    accepts,
    // Nobody can pay a price that no network takes now.
    ...(accepts.length === 0 ? {} : { price: { currency: 'USD', ...price } }),
    output: { mimeType, example: outputExample },
  };
  const body = method === 'GET' ? { queryParams: inputSchema } : { bodyType: 'json', body: inputSchema };
  const http = {
    resource: { url, ...resource },
    type: 'http',
    ...common,
    input: { method, routeTemplate: path, ...body },
  };
  if (!isTool) return [http];
  const input = { toolName: name, description: title, transport: 'streamable-http', inputSchema };
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
