import type { JsonObject } from '../../kit/json.ts';
import type { Operation, Services } from '../operation.ts';

/**
 * Whether an operation may be sold now, or `result` of it: fictional data is never sold for real money. This changes
 * while the gateway runs, as when profiles are imported.
 */
export const isOnSale = (
  operation: Operation,
  services: Services,
  result: JsonObject | null = null,
): boolean =>
  operation.payment !== 'x402' ||
  !services.config.x402.takesRealMoney ||
  !operation.isSandbox(services, result);

/** Whether nothing of `operations` is withheld from sale now. */
export const areOnSale = (operations: readonly Operation[], services: Services): boolean =>
  operations.every((operation) => isOnSale(operation, services));
