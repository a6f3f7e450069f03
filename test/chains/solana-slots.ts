import { randomBytes } from 'node:crypto';
import { getBase58Decoder } from '@solana/kit';

/** The clock of the local cluster: a slot is 400 ms, and every slot has a block with a hash of its own. */
export interface SolanaSlots {
  /** Slot and block height in one: no slot is skipped here. */
  current(): number;
  latestBlockhash(): { blockhash: string; lastValidBlockHeight: number };
  isValid(blockhash: string): boolean;
  /** When the block of that slot was made: seconds since 1970, which skipped slots take with them. */
  blockTime(slot: number): number;
  /** Skips ahead at once. */
  advance(slots: number): void;
}

const slotMs = 400;
/** Blocks for which a hash may be used. */
export const blockhashLifetime = 150;
/** The slot of the start: the empty blocks before it are minutes old. */
const firstSlot = 1_000;

export const createSolanaSlots = (): SolanaSlots => {
  const startedAt = performance.now();
  const startedAtMs = Date.now();
  let skipped = 0;
  /** By hash, in the order of the slots; the expired ones are dropped as new ones are made. */
  const lastValidHeights = new Map<string, number>();
  let latest = { blockhash: '', lastValidBlockHeight: 0 };

  const current = (): number => firstSlot + skipped + Math.floor((performance.now() - startedAt) / slotMs);

  const isValid = (blockhash: string): boolean => (lastValidHeights.get(blockhash) ?? -1) >= current();

  return {
    current,
    isValid,
    latestBlockhash: () => {
      const lastValidBlockHeight = current() + blockhashLifetime;
      if (latest.lastValidBlockHeight === lastValidBlockHeight) return latest;
      latest = { blockhash: getBase58Decoder().decode(randomBytes(32)), lastValidBlockHeight };
      for (const known of lastValidHeights.keys()) {
        if (isValid(known)) break;
        lastValidHeights.delete(known);
      }
      lastValidHeights.set(latest.blockhash, lastValidBlockHeight);
      return latest;
    },
    blockTime: (slot) => Math.floor((startedAtMs + (slot - firstSlot) * slotMs) / 1_000),
    advance: (slots) => {
      skipped += slots;
    },
  };
};
