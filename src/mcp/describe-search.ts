import type { Operation } from '../operations/operation.ts';
import type { SaleDescription } from '../purchases/x402/x402-gate.ts';
import { toInputSchema } from './tool-schemas.ts';
import { isTool } from './tool-list.ts';

const inputExample = { query: 'coffee', country: 'US', limit: 20 };

const outputExample = {
  results: [
    {
      username: 'coffee.with.ana',
      full_name: 'Ana Reyes',
      followers: 48_200,
      following: 310,
      is_verified: false,
      is_business: true,
    },
  ],
  count: 1,
};

/** The search as catalogues and crawlers are told of it; null when nothing is sold call by call. */
export const describeSearch = (
  operations: readonly Operation[],
  { serviceName }: { serviceName: string },
): SaleDescription | null => {
  const operation = operations.find(({ payment }) => payment === 'x402');
  if (operation?.payment !== 'x402' || !isTool(operation)) return null;
  return {
    serviceName,
    tags: ['influencers', 'leads', 'search'],
    description: operation.title,
    path: operation.rest.path,
    mcpPath: '/mcp',
    toolName: operation.name,
    inputSchema: { ...toInputSchema(operation) },
    inputExample,
    outputExample,
    price: operation.priceRange,
  };
};
