import type { X402NetworkConfig } from '../payments/x402-settings.ts';
import { findNetwork } from '../payments/core/networks.ts';

/** The token of a payment, as far as this service knows it. */
export interface KnownToken {
  symbol: string;
  decimals: number;
}

/** The network of that CAIP-2 or v1 name, whether it is configured or not; null for one that is not known. */
export const findKnownNetwork = (name: string): { id: string; label: string } | null => findNetwork(name);

/** The token of that address on that network; null for one that is neither built in nor configured. */
export type FindToken = (of: { network: string; asset: string }) => KnownToken | null;

export const createFindToken =
  (configured: readonly Pick<X402NetworkConfig, 'network' | 'asset'>[]): FindToken =>
  ({ network, asset }) =>
    [
      ...configured.filter((candidate) => candidate.network === network).map((candidate) => candidate.asset),
      findNetwork(network)?.asset ?? null,
    ].find((known) => known !== null && known.address.toLowerCase() === asset.toLowerCase()) ?? null;

/** Writes an amount in the smallest unit exactly: at least two decimals, no zeros past them. */
export const formatTokenAmount = (amount: bigint, decimals: number): string => {
  const scale = 10n ** BigInt(decimals);
  const fraction = (amount % scale).toString().padStart(decimals, '0').replace(/0+$/, '').padEnd(2, '0');
  return `${amount / scale}.${fraction}`;
};

/** Reads `"0.10"` into the smallest unit; null for any other form, for zero, and for a finer amount than there is. */
export const parseTokenAmount = (text: string, decimals: number): bigint | null => {
  const [, whole, written = ''] = /^(\d{1,12})(?:\.(\d{1,30}))?$/.exec(text) ?? [];
  if (whole === undefined) return null;
  const fraction = written.replace(/0+$/, '');
  if (fraction.length > decimals) return null;
  const amount = BigInt(whole + fraction.padEnd(decimals, '0'));
  return amount > 0n ? amount : null;
};
