import type { Json, JsonObject } from '../../kit/json.ts';
import { formatUsd } from '../../kit/money.ts';
import type { PaymentRequirements, ResourceInfo } from '../core/wire.ts';
import type { PriceRange, SaleDescription } from './sale-description.ts';

interface SoldItem {
  sale: SaleDescription;
  price: PriceRange;
  resources: Readonly<Record<'rest' | 'mcp', ResourceInfo>>;
  /** The terms at the least price; empty while no network can be reached. */
  accepts: readonly PaymentRequirements[];
}

const toJson = (value: unknown): Json => JSON.parse(JSON.stringify(value));

/** `max` is null for a price without an upper bound. */
const rangeOf = ({ least, most }: PriceRange) => ({
  min: formatUsd(least),
  max: most === null ? null : formatUsd(most),
});

const rangeInWords = ({ min, max }: ReturnType<typeof rangeOf>): string => {
  if (max === null) return `from ${min}, without a maximum,`;
  return min === max ? min : `${min} to ${max}`;
};

const toItems = ({ sale, price, resources, accepts }: SoldItem): Json[] => {
  const { method, path, toolName, inputSchema } = sale;
  const common = {
    accepts: toJson(accepts),
    price: { currency: 'USD', ...rangeOf(price) },
    output: { mimeType: resources.rest.mimeType, example: sale.outputExample },
  };
  return [
    {
      resource: toJson(resources.rest),
      type: 'http',
      ...common,
      input: {
        method,
        routeTemplate: path,
        ...(method === 'GET' ? { queryParams: inputSchema } : { bodyType: 'json', body: inputSchema }),
      },
    },
    ...(toolName === null
      ? []
      : [
          {
            resource: toJson(resources.mcp),
            type: 'mcp',
            ...common,
            input: { toolName, description: sale.title, transport: 'streamable-http', inputSchema },
          },
        ]),
  ];
};

const instructionFor = ({ sale, price, resources }: SoldItem): string => {
  const { method, unit, toolName } = sale;
  return (
    `Send ${method} ${resources.rest.url} with the ${method === 'GET' ? 'query parameters' : 'JSON body'} of your ${unit}` +
    `${toolName === null ? '' : `, or call the MCP tool ${toolName}`}. Without payment it answers 402 with the exact ` +
    `terms (${rangeInWords(rangeOf(price))} USD in USDC)`
  );
};

/**
 * Makes what `/.well-known/x402` answers: `version` and `resources` as x402scan reads them, `x402Version`, `lastUpdated`
 * and `items` as x402's draft of such a manifest has them. The resources are those that answer a plain GET with 402. All
 * of it is advice: the terms of a 402 are what counts. `publicUrl` has no trailing slash; `now` is in epoch milliseconds.
 */
export const createManifest = ({
  sales,
  publicUrl,
  now,
}: {
  sales: readonly SoldItem[];
  publicUrl: string;
  now: number;
}): JsonObject => ({
  version: 1,
  x402Version: 2,
  lastUpdated: Math.floor(now / 1000),
  resources: sales.filter(({ sale }) => sale.method === 'GET').map(({ resources }) => resources.rest.url),
  items: sales.flatMap(toItems),
  openapi: `${publicUrl}/openapi.json`,
  mcp: `${publicUrl}/mcp`,
  instructions:
    (sales.some(({ accepts }) => accepts.length > 0) ? '' : 'No payment network can be reached now. ') +
    `${sales.map(instructionFor).join('. ')}; pay them and send the same request again with the proof in ` +
    'PAYMENT-SIGNATURE, or over MCP in _meta["x402/payment"]. No account is needed.',
});
