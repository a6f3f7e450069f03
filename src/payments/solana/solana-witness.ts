import { RpcRefusal } from '../core/json-rpc.ts';
import type { SolanaChain, SolanaTip } from './solana-chain.ts';

/** More than any cluster makes: reaching too far back does no harm. */
const slotsPerSecond = 5;

/** Null when the node does not tell, as some do of all blocks, or has forgotten that block meanwhile. */
const findBlockTime = async (chain: SolanaChain, slot: number): Promise<number | null> => {
  try {
    return await chain.getBlockTime(slot);
  } catch (error) {
    if (error instanceof RpcRefusal) return null;
    throw error;
  }
};

/** The oldest block of a node; of one that does not tell, the oldest from `slot` on. Null for none. */
const findFirstBlock = async (chain: SolanaChain, slot: number): Promise<number | null> => {
  try {
    return await chain.getFirstAvailableBlock();
  } catch (error) {
    if (error instanceof RpcRefusal) return chain.getBlockFrom(slot);
    throw error;
  }
};

/** How far the node has come in blocks that no fork can take back. Throws RpcOutage or RpcRefusal. */
export const readTip = async (chain: SolanaChain): Promise<SolanaTip> => {
  const slot = await chain.getFinalizedSlot();
  const blockTime = await findBlockTime(chain, slot);
  return blockTime === null ? chain.readClock() : { slot, blockTime };
};

/**
 * Whether the node still has a block from before that time, and so knows what landed since. Throws RpcOutage or
 * RpcRefusal.
 */
export const remembersSince = async (
  chain: SolanaChain,
  { tip, sinceSeconds }: { tip: SolanaTip; sinceSeconds: number },
): Promise<boolean> => {
  const slotsSince = Math.ceil((tip.blockTime - sinceSeconds) * slotsPerSecond);
  const first = await findFirstBlock(chain, Math.max(0, tip.slot - 2 * slotsSince));
  if (first === null) return false;
  const firstTime = await findBlockTime(chain, first);
  if (firstTime !== null) return firstTime < sinceSeconds;
  // As old as that many slots before the tip is older than that time.
  return first <= Math.max(0, tip.slot - slotsSince);
};
