import { nanoPerUsd, type Nano } from '../../kit/money.ts';
import type { UptoTerms } from '../wire/challenge.ts';
import type { Payment, Risk } from '../../store/store.ts';

/** The work was begun and its cost is not known, so its proof is neither freed nor settled. */
export class WorkNotEndedError extends Error {
  override readonly name = 'WorkNotEndedError';
}

/** How a request is sold by the scheme `upto`: it is paid after the work, at most the price. */
export interface UptoSale {
  /** The network of the caller: an IPv4 address, or the /64 of an IPv6 one. */
  client: string;
  /** The longest time that `produce` takes. */
  longestMs: number;
  /**
   * Does the work, makes the JSON text that is stored with the payment (null: none), and says what the work costs: at most
   * the price. Zero is not settled. When it throws,
   * nothing is charged and the error is passed on; but a WorkNotEndedError leaves the payment as it is. Its charge is
   * settled even if the client has gone.
   */
  produce: (payment: Payment) => Promise<{ result: string | null; charge: Nano }>;
}

export const uptoTermsOf = (sale: UptoSale | undefined): UptoTerms | null =>
  sale === undefined ? null : { workSeconds: Math.ceil(sale.longestMs / 1_000) };

const nanoDecimals = 9;

/**
 * Converts what was used to the asset's smallest unit, rounded up: a chain knows no smaller part. Never more than
 * `most`, which the buyer signed. Throws RangeError below zero.
 */
export const toChargedUnits = (
  charge: Nano,
  { decimals, most }: { decimals: number; most: bigint },
): bigint => {
  if (charge < 0n) throw new RangeError('a charge cannot be below zero');
  const scale = 10n ** BigInt(Math.abs(decimals - nanoDecimals));
  const units = decimals < nanoDecimals ? (charge + scale - 1n) / scale : charge * scale;
  return units < most ? units : most;
};

/** Converts an amount of the asset to what it is worth, rounded down. */
export const toNano = (units: bigint, decimals: number): Nano =>
  (units * 10n ** BigInt(nanoDecimals)) / 10n ** BigInt(decimals);

const dayMs = 86_400_000;
/**
 * What all payers together may owe for calls under way, or have failed to pay within a day: as much as 50 of the dearest
 * calls that stock clients pay ($1).
 */
const maxAtRisk = 50n * nanoPerUsd;
/** The dearest call that is paid after the work, and the most that one payer, or one network, may owe. */
export const maxOfOne = maxAtRisk / 10n;

/**
 * Bounds the loss from payers who spend the money during the work. New wallets cost nothing, so they share half of
 * it, and one of them, or one network, gets a tenth.
 */
export const riskOf = ({
  client,
  accountId,
  now,
}: Pick<Risk, 'client' | 'accountId'> & { now: number }): Risk => ({
  limits: { all: maxAtRisk, strangers: maxAtRisk / 2n, each: maxOfOne },
  since: now - dayMs,
  client,
  accountId,
});
