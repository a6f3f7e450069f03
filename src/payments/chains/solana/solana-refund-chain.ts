import type { RefundOptions } from '../core/network-family.ts';
import { readRefusal } from '../core/read-refusal.ts';
import type { RefundChain, TransferOutcome } from '../core/refund-transfer.ts';
import { createSolanaChain, type SolanaStatus } from './solana-chain.ts';
import { expiryMs } from './solana-outcome.ts';
import { readSolanaTransaction } from './solana-transaction.ts';
import { readTip, remembersSince } from './solana-witness.ts';

/** The clocks of this machine and of the cluster may differ by so much. */
const memoryMarginSeconds = 300;

const open = (reason: string): TransferOutcome => ({ outcome: 'open', reason });

const fromStatus = ({ commitment, error }: SolanaStatus, ageMs: number): TransferOutcome => {
  const isFinal = commitment === 'finalized';
  if (commitment === 'processed') return open('not_confirmed');
  if (error === null) return isFinal ? { outcome: 'settled', reason: null } : { outcome: 'landed' };
  // While its blockhash is valid, a fork that drops the block gives it another chance.
  return isFinal || ageMs >= expiryMs
    ? { outcome: 'failed', reason: 'transaction_failed' }
    : open('failure_not_final');
};

/** Opens one Solana cluster for refunds. */
export const createSolanaRefundChain = ({ rpc, now }: Pick<RefundOptions, 'rpc' | 'now'>): RefundChain => ({
  nonceOf: () => null,
  // An earlier sending may have landed. Only the status tells.
  send: ({ rawTransaction }, signal) => readRefusal(createSolanaChain(rpc, signal).send(rawTransaction)),
  findOutcome: async (transfer, signal) => {
    const chain = createSolanaChain(rpc, signal);
    const ageMs = now() - transfer.signedAt;
    const first = await chain.getStatus(transfer.transaction);
    if (first !== null) return fromStatus(first, ageMs);
    const { blockhash } = readSolanaTransaction(transfer.rawTransaction);
    if (ageMs < expiryMs || (await chain.isBlockhashValid(blockhash))) return open('not_landed');
    if (transfer.landmark === null) return open('no_landmark');
    // A node that does not know the transaction is believed only when it is as far as the cluster and knows the
    // landmark.
    if (!(await chain.isCurrent()) || (await chain.getStatus(transfer.landmark)) === null)
      return open('history_too_short');
    // A node that stood still before the signing proves nothing: it knows neither the transaction nor its blockhash.
    const signedSeconds = transfer.signedAt / 1_000;
    const tip = await readTip(chain);
    if (tip.blockTime <= signedSeconds + expiryMs / 1_000) return open('node_is_behind');
    if (!(await remembersSince(chain, { tip, sinceSeconds: signedSeconds - memoryMarginSeconds })))
      return open('history_too_short');
    if (await chain.isBlockhashValid(blockhash, tip.slot)) return open('not_landed');
    if ((await chain.getStatus(transfer.transaction, tip.slot)) !== null) return open('status_not_shown');
    // It may have landed between the questions above.
    const last = await chain.getStatus(transfer.transaction);
    return last === null ? { outcome: 'failed', reason: 'blockhash_expired' } : fromStatus(last, ageMs);
  },
});
