import type { EvmChain } from './evm-chain.ts';
import type { ContractPayers } from './evm-contract-payers.ts';
import type { EvmPayload } from '../core/wire.ts';

const maxPlainGas = 500_000n;

/** When the payer's own code is run, which can burn what it is given: 30 thousand above the usual limits. */
const maxContractGas = (payload: EvmPayload): bigint => ('authorization' in payload ? 150_000n : 190_000n);

/** The contract payers have used up what they may cost; it passes with time, and says nothing of the proof. */
class ContractPayersExhausted extends Error {
  override readonly name = 'ContractPayersExhausted';
}

/** Throws RpcOutage or RpcRefusal. */
export const hasCode = async (chain: EvmChain, address: string): Promise<boolean> =>
  (await chain.getCode(address)) !== '0x';

/** Looks at the payer of one settlement. */
export interface PayerWatch {
  /** The most gas that the settlement may use. Throws RpcOutage, RpcRefusal or ContractPayersExhausted. */
  readMaxGas(): Promise<bigint>;
  /** Whether it was found to have code, by `readMaxGas`. */
  isContract(): boolean;
  /** The settlement has ended; its revert is noted before. */
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
      // Beside other questions, one of which may have ended the settlement meanwhile.
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
