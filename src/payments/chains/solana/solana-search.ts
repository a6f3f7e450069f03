import { RpcOutage } from '../core/json-rpc.ts';
import type { SolanaChain } from './solana-chain.ts';
import { carriesMessage } from './solana-transaction.ts';

/** `other`: there is a transaction of that signature, and it is not the payment. */
export type SolanaMatch = 'this' | 'other' | 'absent';

/**
 * Looks at the transaction of a signature that somebody else gave. It is the payment when it carries the same message,
 * as the cluster takes a message once. Throws RpcOutage or RpcRefusal.
 */
export const matchSolana = async (
  chain: SolanaChain,
  { signature, message }: { signature: string; message: Uint8Array },
): Promise<SolanaMatch> => {
  const landed = await chain.getTransaction(signature);
  if (landed === null) return 'absent';
  return carriesMessage(landed, message) ? 'this' : 'other';
};

const pageSize = 200;
const maxListed = 1_000;
/** Transactions read at once. */
const concurrency = 8;

export interface SolanaSearchOptions {
  /** The account that signed the transaction. */
  buyer: string;
  message: Uint8Array;
  /** Seconds since 1970; the transaction cannot have landed before. */
  sinceSeconds: number;
}

/**
 * Searches the signature of a landed transaction whose fees somebody else paid; null when it is not there. A second
 * call reads only new transactions. Rejects with RpcOutage or RpcRefusal, also when the node cannot show all of the
 * buyer's transactions or there are too many.
 */
export type SolanaSearch = (minSlot?: number) => Promise<string | null>;

export const createSolanaSearch = (
  chain: SolanaChain,
  { buyer, message, sinceSeconds }: SolanaSearchOptions,
): SolanaSearch => {
  const others = new Set<string>();

  /** Lists all signatures since then, oldest first: the payment came soon after. */
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

  return async (minSlot) => {
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
