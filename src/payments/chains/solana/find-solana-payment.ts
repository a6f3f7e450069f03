import type { BegunPayment, FoundOutcome } from '../core/facilitator.ts';
import { isVerdict, RpcOutage } from '../core/json-rpc.ts';
import type { SolanaChain } from './solana-chain.ts';
import { findSolanaOutcome, type SeenTransaction } from './solana-outcome.ts';
import { transactionOf } from './solana-payload.ts';
import { createSolanaSearch, matchSolana, type SolanaSearch, type SolanaMatch } from './solana-search.ts';
import { readSolanaTransaction, signatureOf } from './solana-transaction.ts';

/** The buyer may have sent the transaction so long before it was stored, and clocks differ. */
const marginMs = 300_000;

export interface SolanaQuestion {
  /**
   * The only signature under which the transaction can land, where this process has the key of its fee payer; null
   * otherwise.
   */
  ownSignature: string | null;
  /** Epoch milliseconds. */
  now: number;
}

/** Returns the signature of the stored transaction, if that is this payment; null otherwise. */
const storedSignature = (rawTransaction: string | null, message: Uint8Array): string | null =>
  rawTransaction !== null && Buffer.compare(readSolanaTransaction(rawTransaction).message, message) === 0
    ? signatureOf(rawTransaction)
    : null;

/** Looks at a hint. One that is no signature at all must not prevent the search. */
const matchHint = async (
  chain: SolanaChain,
  hint: { signature: string; message: Uint8Array },
): Promise<SolanaMatch> => {
  try {
    return await matchSolana(chain, hint);
  } catch (error) {
    if (isVerdict(error)) return 'other';
    throw error;
  }
};

const searchFor = (
  chain: SolanaChain,
  { accounts, message }: { accounts: string[]; message: Uint8Array },
  createdAt: number,
): SolanaSearch => {
  // The fee payer comes first; the next signer is the buyer, who is in far fewer transactions.
  const buyer = accounts[1];
  if (buyer === undefined) throw new RpcOutage('the transaction has no buyer to search by');
  return createSolanaSearch(chain, { buyer, message, sinceSeconds: (createdAt - marginMs) / 1_000 });
};

/**
 * Asks the chain for the outcome of a payment, whoever paid its fees. Looks it up by its signature if that is known,
 * then under the signature that somebody named, then among the buyer's transactions. Throws RpcOutage or RpcRefusal,
 * and for a transaction that cannot be read.
 */
export const findSolanaPayment = async (
  chain: SolanaChain,
  payment: BegunPayment,
  { ownSignature, now }: SolanaQuestion,
): Promise<FoundOutcome> => {
  const { transaction: hint, rawTransaction, createdAt, requirements } = payment;
  const { message, blockhash, accounts } = readSolanaTransaction(transactionOf(payment.payload.payload));
  const sure = ownSignature ?? storedSignature(rawTransaction, message);
  const search = sure === null ? searchFor(chain, { accounts, message }, createdAt) : null;

  const seen = async (signature: string): Promise<SeenTransaction> => {
    const status = await chain.getStatus(signature);
    if (status === null) throw new RpcOutage('the node has no status of a transaction that it has');
    return { signature, status };
  };
  const look = async (minSlot?: number): Promise<SeenTransaction | null> => {
    if (sure !== null) {
      const status = await chain.getStatus(sure, minSlot);
      if (status !== null) return { signature: sure, status };
    }
    if (hint !== null && hint !== sure && (await matchHint(chain, { signature: hint, message })) === 'this')
      return seen(hint);
    const found = (await search?.(minSlot)) ?? null;
    return found === null ? null : seen(found);
  };
  return findSolanaOutcome(chain, {
    look,
    blockhash,
    network: requirements.network,
    sentAfter: createdAt - marginMs,
    createdAt,
    now,
  });
};
