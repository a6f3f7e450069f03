import type { JsonRpc } from '../core/json-rpc.ts';
import { createSolanaChain, type SolanaChain } from './solana-chain.ts';
import { readTip, remembersSince } from './solana-witness.ts';
import { readSolanaTransaction } from './solana-transaction.ts';
import { readRefusal } from '../refunds/read-refusal.ts';
import type { RefundChain, TransferOutcome } from '../refunds/refund-transfer.ts';
import { createSolanaQuestions, type SolanaQuestions, type TransferStatus } from './solana-questions.ts';

/** Twice the life of a blockhash: then no fork can still land the transaction. */
const expiryMs = 180_000;
/** The clocks of this machine and of the cluster may be so far apart. */
const memoryMarginSeconds = 300;

const open = (reason: string): TransferOutcome => ({ outcome: 'open', reason });

const fromStatus = ({ commitment, error }: TransferStatus, ageMs: number): TransferOutcome => {
  const isFinal = commitment === 'finalized';
  if (commitment === 'processed') return open('not_confirmed');
  if (error === null) return isFinal ? { outcome: 'settled', reason: null } : { outcome: 'landed' };
  // As long as its blockhash lives, a block that is dropped would give it another chance.
  return isFinal || ageMs >= expiryMs
    ? { outcome: 'failed', reason: 'transaction_failed' }
    : open('failure_not_final');
};

/**
 * Whether the node can be believed when it knows nothing of the transaction: it is as far as the cluster, and its
 * history reaches back to before the signing, as it knows what landed then.
 */
const isWitness = async (
  landmark: string,
  { chain, questions }: { chain: SolanaChain; questions: SolanaQuestions },
): Promise<boolean> => (await questions.isCurrent()) && (await chain.getStatus(landmark)) !== null;

/** Tells what became of refunds on one Solana cluster. */
export const createSolanaRefundChain = ({
  rpc,
  now,
}: {
  rpc: JsonRpc;
  /** Epoch milliseconds. */
  now: () => number;
}): RefundChain => ({
  nonceOf: () => null,
  send: async ({ rawTransaction }, signal) => {
    try {
      await createSolanaChain(rpc, signal).send(rawTransaction);
      return null;
    } catch (error) {
      // What was sent before may have landed: the status alone tells.
      return readRefusal(error);
    }
  },
  findOutcome: async (transfer, signal) => {
    const asking = { chain: createSolanaChain(rpc, signal), questions: createSolanaQuestions(rpc, signal) };
    const { chain, questions } = asking;
    const ageMs = now() - transfer.signedAt;
    const first = await questions.transferStatus(transfer.transaction);
    if (first !== null) return fromStatus(first, ageMs);
    const { blockhash } = readSolanaTransaction(transfer.rawTransaction);
    if (ageMs < expiryMs || (await chain.isBlockhashValid(blockhash))) return open('not_landed');
    if (transfer.landmark === null) return open('no_landmark');
    if (!(await isWitness(transfer.landmark, asking))) return open('history_too_short');
    // Nothing of this counts from a node that stood still before the signing: it has seen neither.
    const signedSeconds = transfer.signedAt / 1_000;
    const tip = await readTip(chain);
    if (tip.blockTime <= signedSeconds + expiryMs / 1_000) return open('node_is_behind');
    if (!(await remembersSince(chain, { tip, sinceSeconds: signedSeconds - memoryMarginSeconds })))
      return open('history_too_short');
    if (await chain.isBlockhashValid(blockhash, tip.slot)) return open('not_landed');
    if ((await chain.getStatus(transfer.transaction, tip.slot)) !== null) return open('status_not_shown');
    // It may have landed between the questions above.
    const last = await questions.transferStatus(transfer.transaction);
    return last === null ? { outcome: 'failed', reason: 'blockhash_expired' } : fromStatus(last, ageMs);
  },
});
