import { keccak256, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { createEvmChain, isRevert, type EvmChain } from './evm-chain.ts';
import { readFeeMarket, type EvmFees } from './evm-fees.ts';
import type { JsonRpc } from '../core/json-rpc.ts';
import type { PaymentNetwork } from '../core/networks.ts';
import { encodeTransfer, readTokenBalance } from './evm-token.ts';
import {
  FeesTooHigh,
  type Coin,
  type RefundTransfer,
  type RefundWallet,
  type TransferPreview,
} from '../refunds/refund-transfer.ts';

/** Where a network names no limit: 0.005 of the chain's coin. */
const defaultMaxCost = 5_000_000_000_000_000n;

interface Fees extends EvmFees {
  gas: bigint;
}

const estimateFees = async (
  chain: EvmChain,
  { from, transfer }: { from: string; transfer: RefundTransfer },
): Promise<Fees> => {
  const [estimated, { fees }] = await Promise.all([
    chain.estimateGas({ from, ...encodeTransfer(transfer) }),
    readFeeMarket(chain),
  ]);
  return { gas: (estimated * 5n) / 4n, ...fees };
};

const costOf = ({ gas, maxFeePerGas }: Fees): bigint => gas * maxFeePerGas;

/** Pays refunds from one account of an EVM chain. */
export const createEvmRefundWallet = ({
  network,
  coin,
  privateKey,
  rpc,
}: {
  network: PaymentNetwork;
  coin: Coin;
  privateKey: Hex;
  rpc: JsonRpc;
}): RefundWallet => {
  const account = privateKeyToAccount(privateKey);
  const chainId = Number(network.id.split(':')[1]);
  const limit = network.maxGasCost ?? defaultMaxCost;

  const preview = async (transfer: RefundTransfer, signal: AbortSignal): Promise<TransferPreview> => {
    const chain = createEvmChain(rpc, signal);
    const stopped = (obstacle: TransferPreview['obstacle'], cost: bigint | null = null): TransferPreview => ({
      obstacle,
      cost,
      opensAccount: false,
    });
    const actual = await chain.chainId();
    if (actual !== BigInt(chainId)) return stopped({ kind: 'wrong_chain', actual: `eip155:${actual}` });
    const [tokens, coins] = await Promise.all([
      readTokenBalance(chain, { asset: transfer.asset, owner: account.address }),
      chain.getBalance(account.address),
    ]);
    if (tokens < transfer.amount)
      return stopped({ kind: 'too_few_tokens', has: tokens, needs: transfer.amount });
    try {
      const cost = costOf(await estimateFees(chain, { from: account.address, transfer }));
      if (cost > limit) return stopped({ kind: 'fees_too_high', needs: cost, limit }, cost);
      return stopped(coins < cost ? { kind: 'too_few_coins', has: coins, needs: cost } : null, cost);
    } catch (error) {
      if (isRevert(error)) return stopped({ kind: 'refused', detail: error.message });
      throw error;
    }
  };

  return {
    address: account.address,
    coin,
    preview,
    sign: async (transfer, signal) => {
      const chain = createEvmChain(rpc, signal);
      const fees = await estimateFees(chain, { from: account.address, transfer });
      if (costOf(fees) > limit) throw new FeesTooHigh('gas costs too much now');
      const nonce = await chain.getNonce(account.address, 'pending');
      const rawTransaction = await account.signTransaction({
        type: 'eip1559',
        chainId,
        nonce,
        ...encodeTransfer(transfer),
        ...fees,
      });
      return { transaction: keccak256(rawTransaction), rawTransaction };
    },
  };
};
