import type { NetworkFamily } from './core/network-family.ts';
import { evmFamily } from './evm/evm-family.ts';
import { solanaFamily } from './solana/solana-family.ts';

/** The families of networks that payments are taken on. */
export const networkFamilies: readonly NetworkFamily[] = [evmFamily, solanaFamily];

/** Finds the family of a CAIP-2 name; null for one that this service does not know. */
export const findFamily = (network: string): NetworkFamily | null =>
  networkFamilies.find(({ namespace }) => network.startsWith(`${namespace}:`)) ?? null;
