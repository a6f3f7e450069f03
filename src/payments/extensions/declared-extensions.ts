import type { Extensions } from '../core/wire.ts';
import { bazaar, declareForHttp, declareForMcp } from './bazaar.ts';
import { paymentIdentifier, paymentIdentifierDeclaration } from './payment-identifier.ts';
import type { SaleDescription } from './sale-description.ts';

/**
 * Returns what every challenge for a sale declares over HTTP and over MCP. A facilitator is told the same, in place of
 * what the buyer sent: nobody else writes what is catalogued of this service.
 */
export const declareExtensions = (sale: SaleDescription): Readonly<Record<'rest' | 'mcp', Extensions>> => {
  const common: Extensions = { [paymentIdentifier]: paymentIdentifierDeclaration };
  const { toolName } = sale;
  return {
    rest: { ...common, [bazaar]: declareForHttp(sale) },
    mcp: toolName === null ? common : { ...common, [bazaar]: declareForMcp({ ...sale, toolName }) },
  };
};
