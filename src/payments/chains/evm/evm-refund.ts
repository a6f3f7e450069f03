import { isHex, parseTransaction, keccak256, type Hex } from 'viem';
import type { RefundOptions } from '../core/network-family.ts';
import {
  readRefusal,
  FeesTooHigh,
  type BegunTransfer,
  type RefundChain,
  type SignedTransfer,
  type TransferOutcome,
  type RefundTransfer,
  type RefundWallet,
  type TransferPreview,
} from '../core/refund-transfer.ts';
import {
  createEvmChain,
  findFirstBlock,
  chainIdOf,
  isRevert,
  readFeeMarket,
  type EvmChain,
  type EvmReceipt,
  type EvmFees,
} from './evm-chain.ts';
import { isSameHex } from './evm-payload.ts';
import { isTransferLog, encodeTransfer, readTokenBalance } from './evm-token.ts';
import { privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts';

/** If a node names no final block, a transfer with this many blocks on top counts as settled. */
const deepBlocks = 64n;
/** The search for the block in which a nonce was used goes back so far. */
const maxDepth = 2n ** 24n;

interface FinalBlock {
  /** Negative for none. */
  number: bigint;
  /** False when the block is only deep, which proves no failure. */
  isNamed: boolean;
}

/** Whatever is read of this block and of those below it after this stays so. */
const readFinalBlock = async (chain: EvmChain): Promise<FinalBlock> => {
  const named = await chain.getFinalBlockNumber();
  if (named !== null) return { number: named, isNamed: true };
  return { number: (await chain.getBlock()).number - deepBlocks, isNamed: false };
};

/**
 * Finds the transaction by which a nonce of the account was used up to the block `final`. Its presence in a block is
 * proof; its absence is none. Null when the node does not show it.
 */
const findNonceUse = async (
  chain: EvmChain,
  { account, nonce, final }: { account: string; nonce: number; final: bigint },
): Promise<string | null> => {
  const isUsedBy = async (block: bigint): Promise<boolean> => (await chain.getNonce(account, block)) > nonce;
  let upTo = final;
  let after = -1n;
  for (let depth = 1n; depth <= maxDepth && depth <= final && after < 0n; depth *= 4n) {
    const block = final - depth;
    if (await isUsedBy(block)) upTo = block;
    else after = block;
  }
  const senders = await chain.getSenders(await findFirstBlock({ after, upTo }, isUsedBy));
  return senders.find((sent) => sent.nonce === BigInt(nonce) && isSameHex(sent.from, account))?.hash ?? null;
};

const nonceOf = ({ rawTransaction }: SignedTransfer): number => {
  if (!isHex(rawTransaction)) throw new TypeError('an EVM transaction is written in hex');
  return parseTransaction(rawTransaction).nonce ?? 0;
};

const open = (reason: string): TransferOutcome => ({ outcome: 'open', reason });

const judgeReceipt = (
  { status, logs, blockNumber }: EvmReceipt,
  { asset: token, sender: from, recipient: to, amount }: BegunTransfer,
  final: FinalBlock,
): TransferOutcome => {
  const isFinal = blockNumber <= final.number;
  if (status === 'reverted')
    // A fork that drops the block gives the transaction another chance, and then it may succeed.
    return isFinal && final.isNamed
      ? { outcome: 'failed', reason: 'transaction_reverted' }
      : open('revert_not_final');
  if (!logs.some((log) => isTransferLog(log, { token, from, to, amount })))
    return open('transfer_not_logged');
  if (!isFinal) return { outcome: 'landed' };
  return { outcome: 'settled', reason: final.isNamed ? null : 'deep_not_final' };
};

export const createEvmRefundChain = ({ rpc }: Pick<RefundOptions, 'rpc'>): RefundChain => ({
  nonceOf,
  // "Nonce too low" may mean that it landed. Only the receipt tells.
  send: ({ rawTransaction }, signal) => readRefusal(createEvmChain(rpc, signal).sendRaw(rawTransaction)),
  findOutcome: async (transfer, signal) => {
    const chain = createEvmChain(rpc, signal);
    const { sender: account, landmark, transaction } = transfer;
    // The final block comes first, so that a receipt from below it is final too.
    const final = await readFinalBlock(chain);
    const receipt = await chain.getReceipt(transaction);
    if (receipt !== null) return judgeReceipt(receipt, transfer, final);
    // A missing receipt proves nothing: only another transaction with its nonce, in a final block, does.
    const nonce = nonceOf(transfer);
    if (!final.isNamed || (await chain.getNonce(account, final.number)) <= nonce) return open('not_landed');
    if (landmark === null) return open('no_landmark');
    // A node that forgets old receipts, or serves another chain, does not know the landmark either.
    if ((await chain.getReceipt(landmark)) === null) return open('history_too_short');
    const taker = await findNonceUse(chain, { account, nonce, final: final.number });
    if (taker === null) return open('history_too_short');
    // The node that was asked for the receipt was behind, and did not have this one yet.
    return isSameHex(taker, transaction)
      ? open('receipt_not_shown')
      : { outcome: 'failed', reason: 'nonce_used_otherwise' };
  },
});

/** For a network without a limit of its own: 0.005 of the chain's coin. */
const defaultMaxCost = 5_000_000_000_000_000n;

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
