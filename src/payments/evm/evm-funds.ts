import type { PaymentNetwork, TransferMethod } from '../core/networks.ts';
import { judgeFunds } from '../core/account-funds.ts';
import type { EvmChain } from './evm-chain.ts';
import { readFeeMarket } from './evm-fees.ts';
import type { FacilitatorHealth } from '../core/facilitator.ts';

/** The gas limit that a settlement is usually sent with. */
const settlementGas: Record<TransferMethod, bigint> = { eip3009: 120_000n, permit2: 160_000n };

/** Whether the account can pay for settlements, and they are worth it. Throws RpcOutage or RpcRefusal. */
export const checkEvmFunds = async (
  chain: EvmChain,
  { network, account }: { network: PaymentNetwork; account: string },
): Promise<FacilitatorHealth> => {
  const [balance, { fees }] = await Promise.all([chain.getBalance(account), readFeeMarket(chain)]);
  const settlementCost = settlementGas[network.asset.transfer ?? 'eip3009'] * fees.maxFeePerGas;
  if (network.maxGasCost !== null && settlementCost > network.maxGasCost)
    return { ready: false, detail: 'a settlement costs more gas now than it may' };
  return judgeFunds({ account, spendable: balance, settlementCost });
};
