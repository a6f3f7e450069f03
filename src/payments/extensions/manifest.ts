import type { Json, JsonObject } from '../../kit/json.ts';
import { formatUsd } from '../../kit/money.ts';
import type { PaymentRequirements, ResourceInfo } from '../core/wire.ts';
import type { SaleDescription } from './sale-description.ts';

export interface ManifestOptions {
  sale: SaleDescription;
  /** The `{base_url}` without a trailing slash. */
  publicUrl: string;
  resources: Readonly<Record<'rest' | 'mcp', ResourceInfo>>;
  /** For the least price; empty while no network can be offered. */
  accepts: readonly PaymentRequirements[];
  /** Epoch milliseconds. */
  now: number;
}

const toJson = (value: unknown): Json => JSON.parse(JSON.stringify(value));

/**
 * What `/.well-known/x402` says: `version` and `resources` as x402scan reads them, `x402Version`, `lastUpdated` and
 * `items` as x402's draft of such a manifest has them. The resources are those that answer a plain GET with 402. All of
 * it is advice: the terms of a 402 are what counts.
 */
export const createManifest = ({ sale, publicUrl, resources, accepts, now }: ManifestOptions): JsonObject => {
  const least = formatUsd(sale.price.least);
  const most = formatUsd(sale.price.most);
  const common = {
    accepts: toJson(accepts),
    price: { currency: 'USD', min: least, max: most },
    output: { mimeType: resources.rest.mimeType, example: sale.outputExample },
  };
  return {
    version: 1,
    x402Version: 2,
    lastUpdated: Math.floor(now / 1000),
    resources: [resources.rest.url],
    items: [
      {
        resource: toJson(resources.rest),
        type: 'http',
        ...common,
        input: { method: 'GET', routeTemplate: sale.path, queryParams: sale.inputSchema },
      },
      {
        resource: toJson(resources.mcp),
        type: 'mcp',
        ...common,
        input: {
          toolName: sale.toolName,
          description: sale.description,
          transport: 'streamable-http',
          inputSchema: sale.inputSchema,
        },
      },
    ],
    openapi: `${publicUrl}/openapi.json`,
    mcp: `${publicUrl}${sale.mcpPath}`,
    instructions:
      `Send GET ${resources.rest.url} with the query parameters of your search, or call the MCP tool ${sale.toolName}. ` +
      `Without payment it answers 402 with the exact terms (${least === most ? least : `${least} to ${most}`} USD in ` +
      'USDC); pay them and send the same request again with the proof in PAYMENT-SIGNATURE, or over MCP in ' +
      '_meta["x402/payment"]. No account is needed.',
  };
};
