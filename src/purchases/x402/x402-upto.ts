import type { Nano } from '../../kit/money.ts';
import type { UptoTerms } from '../../payments/core/challenge.ts';
import type { Payment } from '../../store/store.ts';
import type { X402Context } from './x402-context.ts';

/** The work was begun, and what it costs is not known: its proof is neither freed nor settled. */
export class WorkNotEndedError extends Error {
  override readonly name = 'WorkNotEndedError';
}

/** How a request is sold by the scheme `upto`: it is paid after the work, at most the price. */
export interface UptoSale {
  /** The longest time that `produce` takes. */
  longestMs: number;
  /**
   * Makes the JSON text that is sold, and says what it costs: at most the price. Zero is not settled. When it throws,
   * nothing is charged and the error is passed on; but a WorkNotEndedError leaves the payment as it is. Its charge is
   * settled even if the client has gone.
   */
  produce: (payment: Payment) => Promise<{ result: string; charge: Nano }>;
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
 * A payer can spend the money while the work is done. New wallets cost nothing, so all failures together, and the open
 * payments that may become some, are limited, too: each gives at most one call away.
 */
const maxFailedADay = 50;

/**
 * Tells whether a payer may pay after the work: none of its settlements failed or was reverted within a day; few of all
 * payers did, or may; and the account whose balance the payment raises owes for no job.
 */
export const mayPayAfterwards = async (
  { store, clock }: Pick<X402Context, 'store' | 'clock'>,
  { source, accountId }: { source: string; accountId: string | null },
): Promise<boolean> => {
  if (accountId !== null && (await store.owesForJobs(accountId))) return false;
  const failed = await store.countFailedUpto({ source, since: clock.now() - dayMs });
  return failed.own === 0 && failed.all < maxFailedADay;
};
