import { readConfig } from '../../../src/config/config.ts';
import { brandTitle } from '../../../src/kit/brand-title.ts';
import { describeSearch } from '../../../src/mcp/describe-search.ts';
import { createOperations } from '../../../src/operations/index.ts';
import type { SaleDescription } from '../../../src/purchases/x402/x402-gate.ts';

/** What a gateway with these settings describes. */
export const describeSale = (environment: Record<string, string> = {}): SaleDescription => {
  const config = readConfig(environment, null);
  const sale = describeSearch(createOperations(config.search), {
    serviceName: brandTitle(config),
  });
  if (sale === null) throw new Error('nothing is sold');
  return sale;
};
