import { LRUCache } from 'lru-cache';
import type { EvmAuthorization } from './evm-authorization.ts';
import { settlementGas, type EvmChain } from './evm-chain.ts';

const hourMs = 3_600_000;
/** The budget of reverted settlements an hour, for all contract payers together. */
const maxReverts = 20;
/** Far more than an hour has, whatever is under way. */
const maxNoted = 1_000;
const maxPlainGas = 500_000n;
/** More than the usual gas, for a payer whose own code runs. That code can burn all of it. */
const contractGasMargin = 30_000n;

export type ContractPayers = ReturnType<typeof createContractPayers>;

/**
 * Accounts for payers with code, whose wallets check their own signatures. Such a wallet can agree while gas is
 * estimated and revert in its block, at our cost and for nothing. A payer that did rests for an hour; all of them
 * together, settlements under way included, have an hourly budget of reverts. For one network; forgotten when the
 * process ends. `now`: epoch milliseconds.
 */
export const createContractPayers = ({ now }: { now: () => number }) => {
  const reverts = new LRUCache<string, string>({
    max: maxNoted,
    ttl: hourMs,
    ttlResolution: 0,
    perf: { now },
  });
  let underWay = 0;
  const hasBudget = (): boolean => {
    reverts.purgeStale();
    return reverts.size + underWay < maxReverts;
  };
  return {
    isResting: (payer: string): boolean => [...reverts.values()].includes(payer.toLowerCase()),
    hasBudget,
    /** Takes a part of the budget, until `end`. Returns false when nothing is left. */
    begin: (): boolean => {
      const hasBegun = hasBudget();
      if (hasBegun) underWay += 1;
      return hasBegun;
    },
    end: (): void => {
      underWay -= 1;
    },
    /** Notes a reverted settlement of a payer with code. Each transaction counts once. */
    noteReverted: ({ transaction, payer }: { transaction: string; payer: string }): void => {
      if (!reverts.has(transaction)) reverts.set(transaction, payer.toLowerCase());
    },
  };
};

export const hasCode = async (chain: EvmChain, address: string): Promise<boolean> =>
  (await chain.getCode(address)) !== '0x';

export const watchPayer = ({
  authorization: { payer, method },
  chain,
  contractPayers,
}: {
  authorization: Pick<EvmAuthorization, 'payer' | 'method'>;
  chain: EvmChain;
  contractPayers: ContractPayers;
}) => {
  let isContract = false;
  let isOver = false;
  return {
    /** Returns the most gas. Throws RpcOutage, RpcRefusal, and while the budget is used up, which passes with time. */
    readMaxGas: async (): Promise<bigint> => {
      if (!(await hasCode(chain, payer))) return maxPlainGas;
      // Another question that runs at the same time may have ended the settlement.
      isContract ||= !isOver && contractPayers.begin();
      if (!isContract) throw new Error('payers with code have to wait');
      return settlementGas[method] + contractGasMargin;
    },
    isContract: (): boolean => isContract,
    /** A revert is noted before. */
    end: (): void => {
      isOver = true;
      if (isContract) contractPayers.end();
    },
  };
};
