import type { FacilitatorHealth, SettleOptions } from './facilitator.ts';

/**
 * Remembers the errors that `beforeBroadcast` throws. The x402 schemes turn every error into a refused payment, but
 * with such an error nothing was sent, and the caller must get the error itself.
 */
export const watchBeforeBroadcast = (
  beforeBroadcast: SettleOptions['beforeBroadcast'],
): { beforeBroadcast: SettleOptions['beforeBroadcast']; throwFirstError(): void } => {
  const errors: unknown[] = [];
  return {
    beforeBroadcast: async (outgoing) => {
      try {
        await beforeBroadcast(outgoing);
      } catch (error) {
        errors.push(error);
        throw error;
      }
    },
    throwFirstError: () => {
      if (errors.length > 0) throw errors[0];
    },
  };
};

/** Below this many settlements the operator is told to fund the account. */
const fewSettlements = 50n;

/**
 * Judges whether an account can pay for settlements. Amounts are in the smallest unit of the chain's coin;
 * `settlementCost` is the most that one costs at the present price. The words do not change with the balance, so that
 * logs do not fill.
 */
export const judgeFunds = ({
  account,
  spendable,
  settlementCost,
}: {
  account: string;
  spendable: bigint;
  settlementCost: bigint;
}): FacilitatorHealth => {
  if (spendable < settlementCost)
    return {
      ready: false,
      detail: `the settling account ${account} cannot pay for one settlement at the present price; fund it`,
    };
  return {
    ready: true,
    detail:
      spendable < settlementCost * fewSettlements
        ? `the settling account ${account} can pay for fewer than ${fewSettlements} settlements; fund it`
        : null,
  };
};
