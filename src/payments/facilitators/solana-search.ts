import { sha256 } from '../../ids.ts';
import { readSolanaTransaction } from '../solana-transaction.ts';
import type { SolanaChain } from './solana-chain.ts';

const maxCandidates = 25;
/** A proof may have been made so long before it was stored, and clocks differ. */
const marginSeconds = 300;

const messageHash = (transaction: string): string => sha256(readSolanaTransaction(transaction).message);

/**
 * The signature under which a transaction landed that somebody else signed for its fees and sent; null when it did
 * not land. Throws RangeError when its buyer made too many transactions since to tell, and RpcOutage or RpcRefusal.
 */
export const findSolanaSignature = async (
  chain: SolanaChain,
  { transaction, createdAt }: { transaction: string; createdAt: number },
): Promise<string | null> => {
  // The fee payer comes first; the next signer is the buyer, who is in far fewer transactions.
  const buyer = readSolanaTransaction(transaction).accounts[1];
  if (buyer === undefined) throw new RangeError('the transaction has no buyer');
  const wanted = messageHash(transaction);
  const begunSeconds = createdAt / 1_000 - marginSeconds;
  const candidates = await chain.getSignatures(buyer, maxCandidates);
  for (const { signature, blockTime } of candidates) {
    if (blockTime !== null && blockTime < begunSeconds) return null;
    const candidate = await chain.getTransaction(signature);
    if (candidate !== null && messageHash(candidate) === wanted) return signature;
  }
  if (candidates.length === maxCandidates) throw new RangeError('too many transactions to search');
  return null;
};
