import type { EvmChain } from './evm-chain.ts';

/** Wei a unit of gas. */
export interface EvmFees {
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** What the chain asks now. */
export interface FeeMarket {
  baseFeePerGas: bigint;
  /** What a transaction should offer: it stays payable while the base fee doubles. */
  fees: EvmFees;
}

/** Throws RpcOutage or RpcRefusal. */
export const readFeeMarket = async (chain: EvmChain): Promise<FeeMarket> => {
  const [{ baseFeePerGas }, maxPriorityFeePerGas] = await Promise.all([
    chain.getBlock(),
    chain.getPriorityFee(),
  ]);
  return {
    baseFeePerGas,
    fees: { maxFeePerGas: baseFeePerGas * 2n + maxPriorityFeePerGas, maxPriorityFeePerGas },
  };
};

/** Nodes take another transaction in the same place for at least a tenth more, some for an eighth. */
const raise = (fee: bigint): bigint => fee + fee / 8n + 1n;
const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** The fees of a transaction that takes the place of one that offers `offered`, and is worth a miner's while. */
export const raiseFees = (offered: EvmFees, { fees }: FeeMarket): EvmFees => ({
  maxFeePerGas: larger(raise(offered.maxFeePerGas), fees.maxFeePerGas),
  maxPriorityFeePerGas: larger(raise(offered.maxPriorityFeePerGas), fees.maxPriorityFeePerGas),
});

/** Whether the chain now suggests so much more for the miner than is left of that offer that another may replace it. */
export const isOutbid = (offered: EvmFees, { baseFeePerGas, fees }: FeeMarket): boolean => {
  const left = offered.maxFeePerGas - baseFeePerGas;
  const tip = left < offered.maxPriorityFeePerGas ? left : offered.maxPriorityFeePerGas;
  return fees.maxPriorityFeePerGas >= raise(tip);
};
