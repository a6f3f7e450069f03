import { RpcOutage, RpcRefusal } from './json-rpc.ts';
import type { SolanaChain } from './solana-chain.ts';

/** The newest final block of a node. */
export interface SolanaTip {
  slot: number;
  /** Seconds since 1970, as the validators agreed on it. */
  blockTime: number;
}

/** More than any cluster makes: reaching too far back does no harm. */
const slotsPerSecond = 5;

/** For a node that does not tell its first block: the first one that it has from somewhat before that time on. */
const findEarlyBlock = (chain: SolanaChain, tip: SolanaTip, sinceSeconds: number): Promise<number | null> =>
  chain.getBlockFrom(Math.max(0, tip.slot - Math.ceil((tip.blockTime - sinceSeconds) * slotsPerSecond)));

/** Null when the node does not answer such a question, or has forgotten that block meanwhile. */
const findFirstTime = async (chain: SolanaChain): Promise<number | null> => {
  try {
    return await chain.getBlockTime(await chain.getFirstAvailableBlock());
  } catch (error) {
    if (error instanceof RpcRefusal) return null;
    throw error;
  }
};

/** How far the node has come in blocks that no fork can take back. Throws RpcOutage or RpcRefusal. */
export const readTip = async (chain: SolanaChain): Promise<SolanaTip> => {
  const slot = await chain.getFinalizedSlot();
  const blockTime = await chain.getBlockTime(slot);
  if (blockTime === null) throw new RpcOutage('the node does not know the time of its newest block');
  return { slot, blockTime };
};

/**
 * Whether the node still has a block from before that time, and so knows what landed since. Throws RpcOutage or
 * RpcRefusal.
 */
export const remembersSince = async (
  chain: SolanaChain,
  { tip, sinceSeconds }: { tip: SolanaTip; sinceSeconds: number },
): Promise<boolean> => {
  const first = await findFirstTime(chain);
  if (first !== null) return first < sinceSeconds;
  const early = await findEarlyBlock(chain, tip, sinceSeconds);
  const earlyTime = early === null ? null : await chain.getBlockTime(early);
  return earlyTime !== null && earlyTime < sinceSeconds;
};
