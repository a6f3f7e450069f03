import type { FoundOutcome } from '../core/facilitator.ts';
import { RpcOutage } from '../core/json-rpc.ts';
import type { SolanaChain, SolanaStatus } from './solana-chain.ts';
import { readTip, remembersSince } from './solana-witness.ts';

/** Twice the life of a blockhash: after it no fork can land the transaction. */
export const expiryMs = 180_000;
/** Less than the time until a settled payment is checked again: what that check misses is not on the chain. */
const freshMs = 90_000;

/** A transaction that landed. */
export interface SeenTransaction {
  signature: string;
  status: SolanaStatus;
}

export interface SolanaTrace {
  /** Null when it is not there, by a node that is not behind `minSlot`. */
  look: (minSlot?: number) => Promise<SeenTransaction | null>;
  blockhash: string;
  /** CAIP-2. */
  network: string;
  /** Epoch milliseconds; it cannot have been sent before. */
  sentAfter: number;
  /** Epoch milliseconds of its arrival here, with a valid blockhash. */
  createdAt: number;
  /** Epoch milliseconds. */
  now: number;
}

const judgeSeen = ({ signature, status }: SeenTransaction): FoundOutcome => {
  if (status.commitment === 'processed') return { outcome: 'unknown', reason: 'not_confirmed' };
  return status.error === null
    ? { outcome: 'settled', transaction: signature }
    : { outcome: 'failed', reason: 'invalid_exact_svm_transaction_failed' };
};

const pending: FoundOutcome = { outcome: 'unknown', reason: 'settlement_pending' };

/**
 * Judges a transaction that is not there. A node that stands still, or that started later, knows neither the
 * transaction nor its blockhash, and proves nothing.
 */
const judgeUnseen = async (
  chain: SolanaChain,
  { blockhash, network, sentAfter, createdAt, now }: SolanaTrace,
): Promise<{ outcome: FoundOutcome; slot: number }> => {
  const tip = await readTip(chain);
  const said = (outcome: FoundOutcome) => ({ outcome, slot: tip.slot });
  const tipMs = tip.blockTime * 1_000;
  if (await chain.isBlockhashValid(blockhash, tip.slot))
    return said(now - tipMs > freshMs ? pending : { outcome: 'open' });
  if (now - createdAt < expiryMs || tipMs <= createdAt + expiryMs) return said(pending);
  // On another cluster nothing ever landed, and a misconfigured node must not prove that nobody was charged.
  if (!(await chain.getGenesisHash()).startsWith(network.slice('solana:'.length)))
    throw new RpcOutage('the node serves another cluster');
  if (!(await remembersSince(chain, { tip, sinceSeconds: sentAfter / 1_000 })))
    return said({ outcome: 'unknown', reason: 'history_too_short' });
  return said({ outcome: 'failed', reason: 'invalid_exact_svm_blockhash_expired' });
};

/** Asks the chain for the outcome of a transaction that may have been sent. Throws RpcOutage or RpcRefusal. */
export const findSolanaOutcome = async (chain: SolanaChain, trace: SolanaTrace): Promise<FoundOutcome> => {
  const first = await trace.look();
  if (first !== null) return judgeSeen(first);
  const { outcome, slot } = await judgeUnseen(chain, trace);
  if (outcome.outcome === 'unknown') return outcome;
  // It may have landed between the questions, or another node of the same address answered first.
  const last = await trace.look(slot);
  return last === null ? outcome : judgeSeen(last);
};
