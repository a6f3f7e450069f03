import type { JsonObject } from '../kit/json.ts';
import type { Operation, Services, X402Sale } from './operation.ts';

/**
 * Whether calls, or an answer that was made (`result`), may be sold by x402 now: what is made up is not sold for real
 * money. This changes while the gateway runs, as when profiles are imported.
 */
export const isOnSale = (sale: X402Sale, services: Services, result: JsonObject | null = null): boolean =>
  !services.config.x402.takesRealMoney || !sale.isSandbox(services, result);

/** Whether a call is free, and its 402 sells balance for want of anything else. */
export const sellsBalanceBeside = (sale: X402Sale | undefined): boolean =>
  sale?.isCredit === true && sale.look !== undefined;

/** Returns what `make` made of the operations that can be used now, once for each set of them. */
export const createOffered = <T>(
  operations: readonly Operation[],
  services: Services,
  make: (offered: readonly Operation[]) => T,
): (() => T) => {
  const made = new Map<string, T>();
  return () => {
    const isOffered = ({ sale }: Pick<Operation, 'sale'>): boolean =>
      sale?.x402 === undefined || sale.prepaid !== undefined || isOnSale(sale.x402, services);
    // What is open to everybody tells of another operation, which it is counted with.
    const offered = operations.filter((operation) =>
      isOffered(
        (operation.isOpen && operations.find(({ name }) => name === operation.countedWith)) || operation,
      ),
    );
    const key = offered.map(({ name }) => name).join(' ');
    const known = made.get(key) ?? make(offered);
    made.set(key, known);
    return known;
  };
};
