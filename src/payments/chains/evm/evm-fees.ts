import { judgeFunds } from '../core/local-engine.ts';
import type { FacilitatorHealth } from '../core/facilitator.ts';
import type { PaymentNetwork, TransferMethod } from '../core/network-family.ts';
import type { EvmChain, EvmFees } from './evm-chain.ts';

type FeeMarket = Awaited<ReturnType<typeof readFeeMarket>>;

/**
 * Reads the base fee of a chain, and the fees that a transaction should offer to stay payable while the base fee
 * doubles. Throws RpcOutage or RpcRefusal.
 */
export const readFeeMarket = async (chain: EvmChain) => {
  const [{ baseFeePerGas }, maxPriorityFeePerGas] = await Promise.all([
    chain.getBlock(),
    chain.getPriorityFee(),
  ]);
  const fees: EvmFees = { maxFeePerGas: baseFeePerGas * 2n + maxPriorityFeePerGas, maxPriorityFeePerGas };
  return { baseFeePerGas, fees };
};

/** Nodes replace a transaction by another with the same nonce for at least a tenth more, some for an eighth. */
const raise = (fee: bigint): bigint => fee + fee / 8n + 1n;
const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** Returns the fees of a transaction that replaces one with the fees `offered`, and is worth a miner's while. */
export const raiseFees = (offered: EvmFees, { fees }: FeeMarket): EvmFees => ({
  maxFeePerGas: larger(raise(offered.maxFeePerGas), fees.maxFeePerGas),
  maxPriorityFeePerGas: larger(raise(offered.maxPriorityFeePerGas), fees.maxPriorityFeePerGas),
});

/** Tells whether the chain now suggests so much more for the miner that a replacement is taken. */
export const isOutbid = (offered: EvmFees, { baseFeePerGas, fees }: FeeMarket): boolean => {
  const left = offered.maxFeePerGas - baseFeePerGas;
  const tip = left < offered.maxPriorityFeePerGas ? left : offered.maxPriorityFeePerGas;
  return fees.maxPriorityFeePerGas >= raise(tip);
};

/** The usual gas limit of a settlement. */
export const settlementGas: Record<TransferMethod, bigint> = { eip3009: 120_000n, permit2: 160_000n };

/** Checks that the account can pay for settlements at a price below the limit. Throws RpcOutage or RpcRefusal. */
export const checkEvmFunds = async (
  chain: EvmChain,
  { network, account }: { network: PaymentNetwork; account: string },
): Promise<FacilitatorHealth> => {
  const [spendable, { fees }] = await Promise.all([chain.getBalance(account), readFeeMarket(chain)]);
  const settlementCost = settlementGas[network.asset.transfer ?? 'eip3009'] * fees.maxFeePerGas;
  if (network.maxGasCost !== null && settlementCost > network.maxGasCost)
    return { ready: false, detail: 'a settlement costs more gas now than it may' };
  return judgeFunds({ account, spendable, settlementCost });
};
