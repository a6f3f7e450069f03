import type { X402NetworkConfig } from '../x402-settings.ts';
import type { PaymentAsset } from '../chains/core/network-family.ts';
import { findNetwork } from '../chains/networks.ts';
import { formatDecimal } from '../../kit/money.ts';

/** Reads `"0.10"` into the smallest unit; null for any other form, for zero, and for too many decimals. */
export const parseTokenAmount = (text: string, decimals: number): bigint | null => {
  const [, whole, written = ''] = /^(\d{1,12})(?:\.(\d{1,30}))?$/.exec(text) ?? [];
  if (whole === undefined) return null;
  const fraction = written.replace(/0+$/, '');
  if (fraction.length > decimals) return null;
  const amount = BigInt(whole + fraction.padEnd(decimals, '0'));
  return amount > 0n ? amount : null;
};

interface Asset {
  network: string;
  asset: string;
}

type AssetAmount = Asset & { amount: bigint };

export type TokenTexts = ReturnType<typeof createTokenTexts>;

/** Creates writers of amounts in the tokens that are built in or configured. */
export const createTokenTexts = (
  configured: readonly { network: string; asset?: X402NetworkConfig['asset'] }[],
) => {
  const findToken = ({ network, asset }: Asset): Pick<PaymentAsset, 'symbol' | 'decimals'> | null =>
    [...configured.filter((one) => one.network === network), findNetwork(network)]
      .map((one) => one?.asset ?? null)
      .find((known) => known !== null && known.address.toLowerCase() === asset.toLowerCase()) ?? null;
  /** `0.10`, null for an unknown token. */
  const tokenAmount = (of: AssetAmount): string | null => {
    const token = findToken(of);
    return token && formatDecimal(of.amount, token.decimals);
  };
  /** `0.10 USDC`, or a number of smallest units of an unknown token. */
  const amountText = (of: AssetAmount): string =>
    `${tokenAmount(of) ?? `${of.amount} units of`} ${findToken(of)?.symbol ?? of.asset}`;
  return { findToken, tokenAmount, amountText };
};
