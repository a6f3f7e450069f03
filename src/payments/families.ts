import type { NetworkFamily } from './core/network-family.ts';
import { evmFamily } from './evm/evm-family.ts';
import { solanaFamily } from './solana/solana-family.ts';

/** The families of networks that payments are taken on. */
export const networkFamilies: readonly NetworkFamily[] = [evmFamily, solanaFamily];
