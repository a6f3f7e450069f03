import type { Coin, RefundTransfer, RefundWallet, TransferPreview } from '../chains/core/refund-transfer.ts';
import { formatTokenAmount } from '../records/token-amount.ts';
import { isNodeTrouble } from '../chains/core/json-rpc.ts';

export type { Coin, RefundWallet, TransferObstacle } from '../chains/core/refund-transfer.ts';

export interface RefundPreview extends Omit<TransferPreview, 'cost'> {
  sender: string;
  /** The highest fee with its coin, such as `0.00001 ETH`; null when it is not known. */
  cost: string | null;
}

const previewMs = 30_000;

export const formatCoins = (amount: bigint, { symbol, decimals }: Coin): string =>
  `${formatTokenAmount(amount, decimals)} ${symbol}`;

/** Tells what a refund would cost and what is in its way; null when the node gives no usable answer. */
export const previewRefund = async (
  wallet: RefundWallet,
  transfer: RefundTransfer,
): Promise<RefundPreview | null> => {
  try {
    const { cost, ...found } = await wallet.preview(transfer, AbortSignal.timeout(previewMs));
    return {
      ...found,
      sender: wallet.address,
      cost: cost === null ? null : formatCoins(cost, wallet.coin),
    };
  } catch (error) {
    if (isNodeTrouble(error)) return null;
    throw error;
  }
};
