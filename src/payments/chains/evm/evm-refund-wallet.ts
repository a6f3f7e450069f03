import { keccak256, type Hex } from 'viem';
import { privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts';
import type { RefundOptions } from '../core/network-family.ts';
import {
  FeesTooHigh,
  type RefundTransfer,
  type RefundWallet,
  type TransferPreview,
} from '../core/refund-transfer.ts';
import { chainIdOf, createEvmChain, isRevert, type EvmChain, type EvmFees } from './evm-chain.ts';
import { readFeeMarket } from './evm-fees.ts';
import { encodeTransfer, readTokenBalance } from './evm-token.ts';

/** For a network without a limit of its own: 0.005 of the chain's coin. */
const defaultMaxCost = 5_000_000_000_000_000n;

/** Chooses gas and fees. `cost`: the most that the transfer can cost. */
const estimateFees = async (
  chain: EvmChain,
  { from, transfer }: { from: string; transfer: RefundTransfer },
): Promise<{ gas: bigint; fees: EvmFees; cost: bigint }> => {
  const [estimated, { fees }] = await Promise.all([
    chain.estimateGas({ from, ...encodeTransfer(transfer) }),
    readFeeMarket(chain),
  ]);
  const gas = (estimated * 5n) / 4n;
  return { gas, fees, cost: gas * fees.maxFeePerGas };
};

const openAccount = (privateKey: Hex): PrivateKeyAccount => {
  try {
    return privateKeyToAccount(privateKey);
  } catch {
    // The error of the library may show the key.
    throw new TypeError('it is no private key: its number is zero, or not below the order of secp256k1');
  }
};

/** Opens an account of an EVM chain to pay refunds. Throws TypeError for a number that is no private key. */
export const createEvmRefundWallet = (
  { network, rpc }: Pick<RefundOptions, 'network' | 'rpc'>,
  privateKey: Hex,
): RefundWallet => {
  const account = openAccount(privateKey);
  const chainId = chainIdOf(network.id);
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
      const { cost } = await estimateFees(chain, { from: account.address, transfer });
      if (cost > limit) return stopped({ kind: 'fees_too_high', needs: cost, limit }, cost);
      return stopped(coins < cost ? { kind: 'too_few_coins', has: coins, needs: cost } : null, cost);
    } catch (error) {
      if (isRevert(error)) return stopped({ kind: 'refused', detail: error.message });
      throw error;
    }
  };

  return {
    address: account.address,
    coin: network.coin,
    preview,
    sign: async (transfer, signal) => {
      const chain = createEvmChain(rpc, signal);
      const { gas, fees, cost } = await estimateFees(chain, { from: account.address, transfer });
      if (cost > limit) throw new FeesTooHigh('gas costs too much now');
      const nonce = await chain.getNonce(account.address, 'pending');
      const rawTransaction = await account.signTransaction({
        type: 'eip1559',
        chainId,
        nonce,
        gas,
        ...encodeTransfer(transfer),
        ...fees,
      });
      return { transaction: keccak256(rawTransaction), rawTransaction };
    },
  };
};
