import type { FacilitatorHealth } from './facilitator.ts';

/** Below this many settlements the operator is told to fund the account. */
const fewSettlements = 50n;

export interface AccountFunds {
  account: string;
  /** Of the chain's coin, in its smallest unit, as far as it can be spent. */
  spendable: bigint;
  /** What one settlement costs at most at the present price, in the same unit. */
  settlementCost: bigint;
}

/** Whether an account can pay for settlements. The words stay the same while the balance moves, so that logs do not fill. */
export const judgeFunds = ({ account, spendable, settlementCost }: AccountFunds): FacilitatorHealth => {
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
