import { isHex, parseTransaction } from 'viem';
import type { RefundOptions } from '../core/network-family.ts';
import { readRefusal } from '../core/read-refusal.ts';
import type { BegunTransfer, RefundChain, SignedTransfer, TransferOutcome } from '../core/refund-transfer.ts';
import { createEvmChain, findFirstBlock, type EvmChain, type EvmReceipt } from './evm-chain.ts';
import { isSameHex } from './evm-payload.ts';
import { isTransferLog } from './evm-token.ts';

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

/**
 * Reads the newest block that no fork can take back. Everything that is read of it and of the blocks below after this
 * stays so.
 */
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

/** Opens one EVM chain for refunds. */
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
