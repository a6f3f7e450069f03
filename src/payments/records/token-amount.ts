import type { X402NetworkConfig } from '../x402-settings.ts';
import { findNetwork } from '../chains/networks.ts';

/** A token that is built in or configured. */
export interface KnownToken {
  symbol: string;
  decimals: number;
}

/** Returns the network of that CAIP-2 or v1 name, configured or not; null for an unknown one. */
export const findKnownNetwork = (name: string): { id: string; label: string } | null => findNetwork(name);

/** Returns the token of that address on that network; null for one that is neither built in nor configured. */
export type FindToken = (of: { network: string; asset: string }) => KnownToken | null;

export const createFindToken =
  (configured: readonly { network: string; asset?: X402NetworkConfig['asset'] }[]): FindToken =>
  ({ network, asset }) =>
    [
      ...configured
        .filter((candidate) => candidate.network === network)
        .map(({ asset: token }) => token ?? null),
      findNetwork(network)?.asset ?? null,
    ].find((known) => known !== null && known.address.toLowerCase() === asset.toLowerCase()) ?? null;

/** Writes an amount given in the smallest unit, exactly: at least two decimals, no trailing zeros after them. */
export const formatTokenAmount = (amount: bigint, decimals: number): string => {
  const scale = 10n ** BigInt(decimals);
  const fraction = (amount % scale).toString().padStart(decimals, '0').replace(/0+$/, '').padEnd(2, '0');
  return `${amount / scale}.${fraction}`;
};

/** Reads `"0.10"` into the smallest unit; null for any other form, for zero, and for too many decimals. */
export const parseTokenAmount = (text: string, decimals: number): bigint | null => {
  const [, whole, written = ''] = /^(\d{1,12})(?:\.(\d{1,30}))?$/.exec(text) ?? [];
  if (whole === undefined) return null;
  const fraction = written.replace(/0+$/, '');
  if (fraction.length > decimals) return null;
  const amount = BigInt(whole + fraction.padEnd(decimals, '0'));
  return amount > 0n ? amount : null;
};

interface AssetAmount {
  network: string;
  asset: string;
  amount: bigint;
}

export type TokenTexts = ReturnType<typeof createTokenTexts>;

/** Creates writers of amounts in the tokens that are known. */
export const createTokenTexts = (findToken: FindToken) => {
  /** `0.10`, null for an unknown token. */
  const tokenAmount = (of: AssetAmount): string | null => {
    const token = findToken(of);
    return token && formatTokenAmount(of.amount, token.decimals);
  };
  /** `0.10 USDC`, or a number of smallest units of an unknown token. */
  const amountText = (of: AssetAmount): string =>
    `${tokenAmount(of) ?? `${of.amount} units of`} ${findToken(of)?.symbol ?? of.asset}`;
  return { findToken, tokenAmount, amountText };
};
