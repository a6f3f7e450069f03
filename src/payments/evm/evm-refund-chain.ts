import { isHex, parseTransaction } from 'viem';
import { createEvmChain, type EvmChain, type EvmReceipt } from './evm-chain.ts';
import { isTransferLog } from './evm-transfer-log.ts';
import type { JsonRpc } from '../core/json-rpc.ts';
import { waitFor } from '../core/wait.ts';
import { findNonceUse, readFinalBlock, readFinalNonce, type FinalBlock } from './evm-finality.ts';
import { readRefusal } from '../refunds/read-refusal.ts';
import type {
  BegunTransfer,
  RefundChain,
  SignedTransfer,
  TransferOutcome,
} from '../refunds/refund-transfer.ts';

/** Nodes behind one address may be apart: a second look after so long sees what the first one missed. */
const defaultSecondLookMs = 15_000;

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
    // A block that is dropped gives the transaction free again, and then it may succeed.
    return isFinal && final.isNamed
      ? { outcome: 'failed', reason: 'transaction_reverted' }
      : open('revert_not_final');
  if (!logs.some((log) => isTransferLog(log, { token, from, to, amount })))
    return open('transfer_not_logged');
  if (!isFinal) return { outcome: 'landed' };
  return { outcome: 'settled', reason: final.isNamed ? null : 'deep_not_final' };
};

/** Tells what became of refunds on one EVM chain. */
export const createEvmRefundChain = ({
  rpc,
  secondLookMs = defaultSecondLookMs,
}: {
  rpc: JsonRpc;
  secondLookMs?: number;
}): RefundChain => {
  interface Look {
    chain: EvmChain;
    signal: AbortSignal;
  }

  /** Null: there is no receipt. The final block is asked for first, so that a receipt from below it is final, too. */
  const lookAtReceipt = async (
    transfer: BegunTransfer,
    { chain, signal }: Look,
  ): Promise<{ receipt: TransferOutcome | null; final: FinalBlock }> => {
    const final = await readFinalBlock(rpc, signal);
    const receipt = await chain.getReceipt(transfer.transaction);
    return { receipt: receipt === null ? null : judgeReceipt(receipt, transfer, final), final };
  };

  /** Whether another transaction took its place for good. */
  const isOvertaken = async (transfer: BegunTransfer, signal: AbortSignal): Promise<boolean> =>
    (await readFinalNonce(rpc, transfer.sender, signal)) > BigInt(nonceOf(transfer));

  const findOutcome = async (transfer: BegunTransfer, look: Look): Promise<TransferOutcome> => {
    const { chain, signal } = look;
    const { receipt: first, final } = await lookAtReceipt(transfer, look);
    if (first !== null) return first;
    // That something is missing is proven only where a node names final blocks.
    if (!final.isNamed || !(await isOvertaken(transfer, signal))) return open('not_landed');
    if (transfer.landmark === null) return open('no_landmark');
    if (!(await waitFor(secondLookMs, signal))) return open('not_landed');
    // A node that forgets old receipts, or serves another chain, knows that one as little.
    if ((await chain.getReceipt(transfer.landmark)) === null) return open('history_too_short');
    const { receipt: second, final: newest } = await lookAtReceipt(transfer, look);
    if (second !== null) return second;
    if (!newest.isNamed) return open('not_landed');
    const taker = await findNonceUse(
      { rpc, signal },
      { account: transfer.sender, nonce: BigInt(nonceOf(transfer)), final: newest.number },
    );
    if (taker === null) return open('history_too_short');
    // A node that was behind when the receipts were asked for did not have them yet.
    return taker.toLowerCase() === transfer.transaction.toLowerCase()
      ? open('receipt_not_shown')
      : { outcome: 'failed', reason: 'nonce_used_otherwise' };
  };

  return {
    nonceOf,
    send: async ({ rawTransaction }, signal) => {
      try {
        await createEvmChain(rpc, signal).sendRaw(rawTransaction);
        return null;
      } catch (error) {
        // "Nonce too low" may mean that it landed: the receipt alone tells.
        return readRefusal(error);
      }
    },
    findOutcome: (transfer, signal) => findOutcome(transfer, { chain: createEvmChain(rpc, signal), signal }),
  };
};
