import { RpcOutage } from '../core/json-rpc.ts';
import type { SolanaChain } from './solana-chain.ts';
import { sightSolana } from './solana-sighting.ts';

const pageSize = 200;
const maxListed = 1_000;
/** Transactions read at once. */
const concurrency = 8;

export interface SolanaSearchOptions {
  /** Signed the transaction. */
  buyer: string;
  message: Uint8Array;
  /** Seconds since 1970 at which it cannot have landed yet. */
  sinceSeconds: number;
}

/**
 * Looks for the signature under which a transaction landed that somebody else signed for its fees and sent; null when
 * it is not there. Asked again, it reads only what is new. Rejects with RpcOutage or RpcRefusal, also when the node
 * cannot show all of the buyer's transactions or there are too many to tell.
 */
export type SolanaSearch = (minSlot?: number) => Promise<string | null>;

export const createSolanaSearch = (
  chain: SolanaChain,
  { buyer, message, sinceSeconds }: SolanaSearchOptions,
): SolanaSearch => {
  const others = new Set<string>();

  /** All since then, oldest first: the one looked for came soon after. */
  const list = async (minSlot: number | undefined): Promise<string[]> => {
    const listed: string[] = [];
    while (listed.length < maxListed) {
      const before = listed.at(-1);
      const page = await chain.getSignatures(buyer, {
        limit: pageSize,
        ...(before === undefined ? {} : { before }),
        ...(minSlot === undefined ? {} : { minSlot }),
      });
      // A node that does not know where the page before it ended answers with nothing.
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
      const sightings = await Promise.all(
        batch.map(async (signature) => ({
          signature,
          sighting: await sightSolana(chain, { signature, message }),
        })),
      );
      for (const { signature, sighting } of sightings) {
        if (sighting === 'this') return signature;
        if (sighting === 'other') others.add(signature);
        else isHidden = true;
      }
    }
    // It may be the one that is sought.
    if (isHidden) throw new RpcOutage('the node lists a transaction that it does not show');
    return null;
  };
};
