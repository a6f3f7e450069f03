import type { FoundOutcome } from './facilitator.ts';
import { RpcOutage } from './json-rpc.ts';
import type { SolanaChain, SolanaStatus } from './solana-chain.ts';

/** Twice the life of a blockhash: then no fork can still land the transaction. */
const expiryMs = 180_000;
/** Nodes forget statuses after about two days; far before that, "not there" still means that it never landed. */
const historyMs = 12 * 3_600_000;

export interface SolanaPaymentTrace {
  /** Null when it was looked for among all that can have landed, and was not there. */
  signature: string | null;
  blockhash: string;
  /** CAIP-2. */
  network: string;
  /** Milliseconds since before the transaction was first sent. */
  ageMs: number;
}

const fromStatus = (signature: string, status: SolanaStatus): FoundOutcome => {
  if (!status.isConfirmed) return { outcome: 'unknown', reason: 'not_confirmed' };
  return status.error === null
    ? { outcome: 'settled', transaction: signature }
    : { outcome: 'failed', reason: 'invalid_exact_svm_transaction_failed' };
};

/**
 * What the chain says of a transaction by its signature, which is known before it is sent. Throws RpcOutage or
 * RpcRefusal.
 */
export const findSolanaOutcome = async (
  chain: SolanaChain,
  { signature, blockhash, network, ageMs }: SolanaPaymentTrace,
): Promise<FoundOutcome> => {
  const status = signature === null ? null : await chain.getStatus(signature);
  if (signature !== null && status !== null) return fromStatus(signature, status);
  if (await chain.isBlockhashValid(blockhash)) return { outcome: 'open' };
  if (ageMs < expiryMs || ageMs > historyMs) return { outcome: 'unknown', reason: 'settlement_pending' };
  // On another cluster nothing ever landed, and a misconfigured node must not prove that nobody was charged.
  if (!(await chain.getGenesisHash()).startsWith(network.slice('solana:'.length)))
    throw new RpcOutage('the node serves another cluster');
  // It may have landed between the first two questions.
  const last = signature === null ? null : await chain.getStatus(signature);
  return signature === null || last === null
    ? { outcome: 'failed', reason: 'invalid_exact_svm_blockhash_expired' }
    : fromStatus(signature, last);
};
