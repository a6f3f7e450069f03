import { RpcRefusal } from '../core/json-rpc.ts';
import type { SolanaChain, SolanaTip } from './solana-chain.ts';

/** More than any cluster makes. Too high a number does no harm. */
const slotsPerSecond = 5;

/** Reads the time of a block. Null when the node does not tell the time of blocks, or has forgotten this one. */
const findBlockTime = async (chain: SolanaChain, slot: number): Promise<number | null> => {
  try {
    return await chain.getBlockTime(slot);
  } catch (error) {
    if (error instanceof RpcRefusal) return null;
    throw error;
  }
};

/** Finds the oldest block of a node. If the node does not say it: the oldest from `slot` on. Null: there is none. */
const findFirstBlock = async (chain: SolanaChain, slot: number): Promise<number | null> => {
  try {
    return await chain.getFirstAvailableBlock();
  } catch (error) {
    if (error instanceof RpcRefusal) return chain.getBlockFrom(slot);
    throw error;
  }
};

/** Reads the newest block that no fork can take back. Throws RpcOutage or RpcRefusal. */
export const readTip = async (chain: SolanaChain): Promise<SolanaTip> => {
  const slot = await chain.getFinalizedSlot();
  const blockTime = await findBlockTime(chain, slot);
  return blockTime === null ? chain.readClock() : { slot, blockTime };
};

/**
 * Tells whether the node still has a block from before that time, and so knows all that landed since. Throws RpcOutage
 * or RpcRefusal.
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
  // A block that many slots before the tip is older than that time.
  return first <= Math.max(0, tip.slot - slotsSince);
};
