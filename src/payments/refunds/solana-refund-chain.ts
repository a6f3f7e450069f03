import type { JsonRpc } from '../facilitators/json-rpc.ts';
import { createSolanaChain, type SolanaChain, type SolanaStatus } from '../facilitators/solana-chain.ts';
import { readSolanaTransaction } from '../solana-transaction.ts';
import type { BegunTransfer, RefundChain, TransferOutcome } from './refund-transfer.ts';
import { createSolanaQuestions, type SolanaQuestions } from './solana-questions.ts';

/** Twice the life of a blockhash: then no fork can still land the transaction. */
const expiryMs = 180_000;

const fromStatus = ({ isConfirmed, error }: SolanaStatus, ageMs: number): TransferOutcome => {
  if (!isConfirmed) return { outcome: 'open', reason: 'not_confirmed' };
  if (error === null) return { outcome: 'settled' };
  // As long as its blockhash lives, a block that is dropped would give it another chance.
  return ageMs < expiryMs
    ? { outcome: 'open', reason: 'failure_not_final' }
    : { outcome: 'failed', reason: 'transaction_failed' };
};

/**
 * Whether the node can be believed when it knows nothing of the transaction: it is as far as the cluster, and its
 * history reaches back to before the signing, as it knows what landed then.
 */
const isWitness = async (
  { landmark }: BegunTransfer,
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
  send: async ({ rawTransaction }, signal) => {
    try {
      await createSolanaChain(rpc, signal).send(rawTransaction);
    } catch {
      // What was sent before may have landed: the status alone tells.
    }
  },
  findOutcome: async (transfer, signal) => {
    const asking = { chain: createSolanaChain(rpc, signal), questions: createSolanaQuestions(rpc, signal) };
    const { chain } = asking;
    const ageMs = now() - transfer.signedAt;
    const first = await chain.getStatus(transfer.transaction);
    if (first !== null) return fromStatus(first, ageMs);
    const { blockhash } = readSolanaTransaction(transfer.rawTransaction);
    if (ageMs < expiryMs || (await chain.isBlockhashValid(blockhash)))
      return { outcome: 'open', reason: 'not_landed' };
    if (!(await isWitness(transfer, asking))) return { outcome: 'open', reason: 'history_too_short' };
    // It may have landed between the questions above.
    const last = await chain.getStatus(transfer.transaction);
    return last === null ? { outcome: 'failed', reason: 'blockhash_expired' } : fromStatus(last, ageMs);
  },
});
