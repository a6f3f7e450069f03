import type { EvmChain } from './evm-chain.ts';
import type { EvmPayload } from './evm-payload.ts';

const hourMs = 3_600_000;
/** The budget of reverted settlements an hour, for all contract payers together. */
const maxReverts = 20;
/** Far more than an hour has, whatever is under way. */
const maxNoted = 1_000;
const maxPlainGas = 500_000n;

/** For a payer whose own code runs, which can burn what it is given: 30 thousand above the usual limits. */
const maxContractGas = (payload: EvmPayload): bigint => ('authorization' in payload ? 150_000n : 190_000n);

/** The contract payers have used up their budget. This passes with time, and says nothing about the proof. */
class ContractPayersExhausted extends Error {
  override readonly name = 'ContractPayersExhausted';
}

/**
 * Accounts for payers with code, whose wallets check their own signatures. Such a wallet can agree while gas is
 * estimated and revert in its block, at our cost and for nothing. A payer that did rests for an hour; all of them
 * together, settlements under way included, have an hourly budget of reverts. For one network; forgotten when the
 * process ends.
 */
export interface ContractPayers {
  /** Tells whether a settlement of that payer was reverted within the last hour. */
  isResting(payer: string): boolean;
  hasBudget(): boolean;
  /** Takes a part of the budget. Returns a function that gives it back; null when nothing is left. */
  begin(): (() => void) | null;
  /** Notes a reverted settlement of a payer with code. Each transaction counts once. */
  noteReverted(reverted: { transaction: string; payer: string }): void;
}

export const createContractPayers = ({ now }: { now: () => number }): ContractPayers => {
  /** By transaction, oldest first. */
  const reverts = new Map<string, { payer: string; at: number }>();
  let underWay = 0;

  const forgetOld = (): void => {
    for (const [transaction, { at }] of reverts) {
      if (now() - at < hourMs && reverts.size <= maxNoted) return;
      reverts.delete(transaction);
    }
  };
  const hasBudget = (): boolean => {
    forgetOld();
    return reverts.size + underWay < maxReverts;
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

/** Throws RpcOutage or RpcRefusal. */
export const hasCode = async (chain: EvmChain, address: string): Promise<boolean> =>
  (await chain.getCode(address)) !== '0x';

/** Watches the payer of one settlement. */
export interface PayerWatch {
  /** Returns the most gas that the settlement may use. Throws RpcOutage, RpcRefusal or ContractPayersExhausted. */
  readMaxGas(): Promise<bigint>;
  /** Tells whether `readMaxGas` found that the payer has code. */
  isContract(): boolean;
  /** Ends the watch with the settlement. A revert is noted before. */
  end(): void;
}

export const watchPayer = (options: {
  payer: string;
  payload: EvmPayload;
  chain: EvmChain;
  contractPayers: ContractPayers;
}): PayerWatch => {
  const { payer, payload, chain, contractPayers } = options;
  let giveBack: (() => void) | null = null;
  let isOver = false;
  return {
    readMaxGas: async () => {
      if (!(await hasCode(chain, payer))) return maxPlainGas;
      // Another question that runs at the same time may have ended the settlement.
      if (!isOver) giveBack ??= contractPayers.begin();
      if (giveBack === null) throw new ContractPayersExhausted('payers with code have to wait');
      return maxContractGas(payload);
    },
    isContract: () => giveBack !== null,
    end: () => {
      isOver = true;
      giveBack?.();
    },
  };
};
