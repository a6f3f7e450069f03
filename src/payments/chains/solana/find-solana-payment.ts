import { instead } from '../../../kit/errors.ts';
import type { BegunPayment, FoundOutcome } from '../core/facilitator.ts';
import { isVerdict, RpcOutage } from '../core/json-rpc.ts';
import type { SolanaChain } from './solana-chain.ts';
import { findSolanaOutcome, type SeenTransaction } from './solana-outcome.ts';
import { transactionOf } from './solana-payload.ts';
import { readSolanaTransaction, signatureOf, carriesMessage } from './solana-transaction.ts';

/** `other`: there is a transaction of that signature, and it is not the payment. */
type SolanaMatch = 'this' | 'other' | 'absent';

/**
 * Looks at the transaction of a signature that somebody else gave. It is the payment when it carries the same message,
 * as the cluster takes a message once. Throws RpcOutage or RpcRefusal.
 */
const matchSolana = async (
  chain: SolanaChain,
  { signature, message }: { signature: string; message: Uint8Array },
): Promise<SolanaMatch> => {
  const landed = await chain.getTransaction(signature);
  if (landed === null) return 'absent';
  return carriesMessage(landed, message) ? 'this' : 'other';
};

const pageSize = 200;
const maxListed = 1_000;
const concurrency = 8;

/**
 * Creates a search for the signature of a landed transaction whose fees somebody else paid; it finds null when that is not
 * there. `buyer`: the account that signed it. `sinceSeconds`: since 1970; it cannot have landed before. A second call
 * reads only new transactions. Rejects with RpcOutage or RpcRefusal, also when the node cannot show all of the buyer's
 * transactions or there are too many.
 */
export const createSolanaSearch = (
  chain: SolanaChain,
  { buyer, message, sinceSeconds }: { buyer: string; message: Uint8Array; sinceSeconds: number },
) => {
  const others = new Set<string>();

  const list = async (minSlot: number | undefined): Promise<string[]> => {
    const listed: string[] = [];
    while (listed.length < maxListed) {
      const before = listed.at(-1);
      const after = before === undefined ? {} : { before };
      const page = await chain.getSignatures(buyer, { limit: pageSize, ...after, minSlot });
      // A node that does not know the end of the previous page answers with an empty one.
      if (before !== undefined && page.length === 0) throw new RpcOutage('the node broke off its list');
      const end = page.findIndex(({ blockTime }) => blockTime !== null && blockTime < sinceSeconds);
      listed.push(...page.slice(0, end === -1 ? pageSize : end).map(({ signature }) => signature));
      if (end !== -1 || page.length < pageSize) return listed.toReversed();
    }
    throw new RpcOutage('the buyer made too many transactions to search');
  };

  return async (minSlot?: number): Promise<string | null> => {
    const candidates = (await list(minSlot)).filter((signature) => !others.has(signature));
    let isHidden = false;
    for (let from = 0; from < candidates.length; from += concurrency) {
      const batch = candidates.slice(from, from + concurrency);
      const matches = await Promise.all(
        batch.map(async (signature) => ({
          signature,
          match: await matchSolana(chain, { signature, message }),
        })),
      );
      for (const { signature, match } of matches) {
        if (match === 'this') return signature;
        if (match === 'other') others.add(signature);
        else isHidden = true;
      }
    }
    // The hidden one may be the payment.
    if (isHidden) throw new RpcOutage('the node lists a transaction that it does not show');
    return null;
  };
};

/** The buyer may have sent the transaction so long before it was stored, and clocks differ. */
const marginMs = 300_000;

/** Returns the signature of the stored transaction, if that is this payment; null otherwise. */
const storedSignature = (rawTransaction: string | null, message: Uint8Array): string | null =>
  rawTransaction !== null && Buffer.compare(readSolanaTransaction(rawTransaction).message, message) === 0
    ? signatureOf(rawTransaction)
    : null;

/** Looks at a hint. One that is no signature at all must not prevent the search. */
const matchHint = (
  chain: SolanaChain,
  hint: { signature: string; message: Uint8Array },
): Promise<SolanaMatch> => matchSolana(chain, hint).catch(instead('other', isVerdict));

const searchFor = (
  chain: SolanaChain,
  { accounts, message }: { accounts: string[]; message: Uint8Array },
  createdAt: number,
) => {
  // The fee payer comes first; the next signer is the buyer, who is in far fewer transactions.
  const buyer = accounts[1];
  if (buyer === undefined) throw new RpcOutage('the transaction has no buyer to search by');
  return createSolanaSearch(chain, { buyer, message, sinceSeconds: (createdAt - marginMs) / 1_000 });
};

/**
 * Asks the chain for the outcome of a payment, whoever paid its fees. Looks it up by its signature if that is known,
 * then under the signature that somebody named, then among the buyer's transactions. `ownSignature`: the only one
 * under which the transaction can land, where this process has the key of its fee payer; null otherwise. `now`: epoch
 * milliseconds. Throws RpcOutage or RpcRefusal, and for a transaction that cannot be read.
 */
export const findSolanaPayment = async (
  chain: SolanaChain,
  payment: BegunPayment,
  { ownSignature, now }: { ownSignature: string | null; now: number },
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
  const find = async (minSlot?: number): Promise<SeenTransaction | null> => {
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
    find,
    blockhash,
    network: requirements.network,
    sentAfter: createdAt - marginMs,
    createdAt,
    now,
  });
};
