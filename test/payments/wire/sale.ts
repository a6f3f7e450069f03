import { readConfig } from '../../../src/config/config.ts';
import { brandTitle } from '../../../src/kit/text.ts';
import { describeSales } from '../../../src/gateway/describe-sales.ts';
import { createOperations } from '../../../src/operations/index.ts';
import type { Services } from '../../../src/operations/call.ts';
import type { SaleDescription } from '../../../src/payments/sale/gate.ts';

/** The search over each transport. */
export const overRest = { sale: 'search_leads', transport: 'rest' } as const;
export const overMcp = { sale: 'search_leads', transport: 'mcp' } as const;

/** The search as a gateway with these settings describes it, over real profiles. */
export const describeSale = (environment: Record<string, string> = {}): SaleDescription => {
  const config = readConfig(environment, null);
  const [sale] = describeSales(createOperations(config.search), {
    serviceName: brandTitle(config),
    services: () => ({ config }) as unknown as Services,
  });
  if (sale === undefined) throw new Error('nothing is sold');
  return { ...sale, notice: () => null };
};
