import { instead } from '../../../kit/errors.ts';
import type { FoundOutcome } from '../core/facilitator.ts';
import { isRefusal, RpcOutage } from '../core/json-rpc.ts';
import type { SolanaChain, SolanaStatus, SolanaTip } from './solana-chain.ts';

/** More than any cluster makes. Too high a number does no harm. */
const slotsPerSecond = 5;

/** Reads the time of a block. Null when the node does not tell the time of blocks, or has forgotten this one. */
const findBlockTime = (chain: SolanaChain, slot: number): Promise<number | null> =>
  chain.getBlockTime(slot).catch(instead(null, isRefusal));

/** Finds the oldest block of a node. If the node does not say it: the oldest from `slot` on. Null: there is none. */
const findFirstBlock = async (chain: SolanaChain, slot: number): Promise<number | null> =>
  (await chain.getFirstAvailableBlock().catch(instead(null, isRefusal))) ?? chain.getBlockFrom(slot);

/** Reads the newest block that no fork can take back. Throws RpcOutage or RpcRefusal. */
export const readTip = async (chain: SolanaChain): Promise<SolanaTip> => {
  const slot = await chain.getFinalizedSlot();
  const blockTime = await findBlockTime(chain, slot);
  return blockTime === null ? chain.readClock() : { slot, blockTime };
};

/** Tells whether the node has a block from before that time, and so knows all that landed since. */
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

/** Twice the life of a blockhash: after it no fork can land the transaction. */
export const expiryMs = 180_000;
/** Less than the time until a settled payment is checked again: what that check misses is not on the chain. */
const freshMs = 90_000;

export interface SeenTransaction {
  signature: string;
  status: SolanaStatus;
}

interface SolanaTrace {
  /** Null when it is not there, by a node that is not behind `minSlot`. */
  find: (minSlot?: number) => Promise<SeenTransaction | null>;
  blockhash: string;
  network: string;
  /** Epoch milliseconds; it cannot have been sent before. */
  sentAfter: number;
  /** Epoch milliseconds of its arrival here, with a valid blockhash. */
  createdAt: number;
  now: number;
}

const judgeSeen = ({ signature, status }: SeenTransaction): FoundOutcome => {
  if (status.commitment === 'processed') return { outcome: 'unknown', reason: 'not_confirmed' };
  return status.error === null
    ? { outcome: 'settled', transaction: signature }
    : { outcome: 'failed', reason: 'invalid_exact_svm_transaction_failed' };
};

const pending: FoundOutcome = { outcome: 'unknown', reason: 'settlement_pending' };

/** A node that stands still, or started later, knows neither transaction nor blockhash, and proves nothing. */
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

export const findSolanaOutcome = async (chain: SolanaChain, trace: SolanaTrace): Promise<FoundOutcome> => {
  const first = await trace.find();
  if (first !== null) return judgeSeen(first);
  const { outcome, slot } = await judgeUnseen(chain, trace);
  if (outcome.outcome === 'unknown') return outcome;
  // It may have landed between the questions, or another node of the same address answered first.
  const last = await trace.find(slot);
  return last === null ? outcome : judgeSeen(last);
};
