import type { Extensions } from '../core/wire.ts';
import { bazaar, declareForHttp, declareForMcp } from './bazaar.ts';
import { paymentIdentifier, paymentIdentifierDeclaration } from './payment-identifier.ts';
import type { SaleDescription } from './sale-description.ts';

/**
 * What every challenge declares, by where it is sold, and what a facilitator is told of a payment in place of what its
 * buyer sent: nobody else writes what is catalogued of this service. Null describes nothing.
 */
export const declareExtensions = (
  sale: SaleDescription | null,
): Readonly<Record<'rest' | 'mcp', Extensions>> => {
  const common: Extensions = { [paymentIdentifier]: paymentIdentifierDeclaration };
  if (sale === null) return { rest: common, mcp: common };
  return {
    rest: { ...common, [bazaar]: declareForHttp(sale) },
    mcp: { ...common, [bazaar]: declareForMcp(sale) },
  };
};
