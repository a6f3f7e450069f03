const hourMs = 3_600_000;
/** Of all contract payers, within an hour. */
const mostReverts = 20;
/** Far more than are noted in an hour, whatever is under way. */
const mostNoted = 1_000;

/**
 * Keeps account of payers with code, whose wallets check their own signatures: one can agree while gas is estimated and
 * revert in its block, at our cost and for nothing. One that did rests for an hour; all of them together, those under
 * way included, have a budget of reverted settlements an hour. For one network; forgotten when the process ends.
 */
export interface ContractPayers {
  /** Whether a settlement of that payer was reverted within the last hour. */
  isResting(payer: string): boolean;
  hasBudget(): boolean;
  /** Takes a part of the budget for a settlement under way; what it answers gives it back. Null: none is left. */
  begin(): (() => void) | null;
  /** That a settlement of a payer with code was reverted; more than once for one transaction is once. */
  noteReverted(reverted: { transaction: string; payer: string }): void;
}

export const createContractPayers = ({ now }: { now: () => number }): ContractPayers => {
  /** By transaction, oldest first. */
  const reverts = new Map<string, { payer: string; at: number }>();
  let underWay = 0;

  const forgetOld = (): void => {
    for (const [transaction, { at }] of reverts) {
      if (now() - at < hourMs && reverts.size <= mostNoted) return;
      reverts.delete(transaction);
    }
  };
  const hasBudget = (): boolean => {
    forgetOld();
    return reverts.size + underWay < mostReverts;
  };

  return {
    isResting: (payer) => {
      forgetOld();
      const named = payer.toLowerCase();
      return reverts.values().some((reverted) => reverted.payer === named);
    },
    hasBudget,
    begin: () => {
      if (!hasBudget()) return null;
      underWay += 1;
      let isOver = false;
      return () => {
        if (!isOver) underWay -= 1;
        isOver = true;
      };
    },
    noteReverted: ({ transaction, payer }) => {
      if (reverts.has(transaction)) return;
      reverts.set(transaction, { payer: payer.toLowerCase(), at: now() });
      forgetOld();
    },
  };
};
