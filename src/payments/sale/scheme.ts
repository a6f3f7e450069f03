import { withPurpose } from '../../kit/call-purpose.ts';
import { nanoDecimals, nanoPerUsd, type Nano } from '../../kit/money.ts';
import type { UptoTerms } from '../wire/challenge.ts';
import type { Payment, Risk, VerifyPaymentOutcome } from '../../store/store.ts';

type Refusal = Exclude<VerifyPaymentOutcome['outcome'], 'verified'>;

/** A scheme of x402 for one request: when the work is done, how much is taken for it, and what it risks. */
export interface Scheme {
  /** The network of the caller where it is stored with the payment; undefined: it is not. */
  client: string | undefined;
  /** Of one payer: one movement of its money can revert all their settlements, whose fees are ours. */
  maxOpen: number;
  /** Whether the proof is verified again when the payment is covered, as it may have been used in the meantime. */
  isVerifiedTwice: boolean;
  givesReceiptOfNothing: boolean;
  /** The reason codes of refusals after which only the scheme `exact` is offered. */
  exactOnly: Partial<Record<Refusal, string>>;
  /** Bounds the loss from payers who spend the money during the work; null: there is none. */
  riskOf: (of: Pick<Risk, 'accountId'> & { now: number }) => Risk | null;
  /** `result`: JSON text to store. `charge`: in the smallest unit; undefined: the whole amount; zero: nothing. */
  produce: (payment: Payment) => Promise<{ result: string | null; charge: bigint | undefined }>;
}

/** Bounds work that does not end with its client. The longest search takes two minutes. */
export const longestAnswerMs = 180_000;

/** The whole price is taken, for work that is done before. */
export const exactScheme = (request: {
  sale: string;
  signal: AbortSignal;
  costsMoney?: boolean | undefined;
  client: string;
  produce: (signal: AbortSignal, payment: Payment) => Promise<string | null | { free: string | null }>;
}): Scheme => ({
  // Work that costs money is lost where its settlement fails, and new wallets cost nothing.
  client: request.costsMoney === true ? request.client : undefined,
  maxOpen: 30,
  isVerifiedTwice: false,
  givesReceiptOfNothing: false,
  exactOnly: {},
  riskOf: () => null,
  produce: async (payment) => {
    const purpose = { operation: request.sale, jobId: null, soldPayment: payment.identity };
    const isPaidAnyway = request.costsMoney === true;
    const signal = isPaidAnyway ? AbortSignal.timeout(longestAnswerMs) : request.signal;
    const made = await withPurpose(purpose, () => request.produce(signal, payment));
    if (made !== null && typeof made === 'object') return { result: made.free, charge: 0n };
    // A charge that is stored is settled without the client.
    return { result: made, charge: isPaidAnyway ? payment.amount : undefined };
  },
});

/** The use is taken, at most the price. `client`: the network of the caller. `decimals`: those of the asset. */
export const uptoScheme = (
  sale: UptoSale,
  { client, decimals }: { client: string; decimals: number },
): Scheme => ({
  client,
  // One movement of the payer's money also makes calls free whose work is done.
  maxOpen: 2,
  isVerifiedTwice: true,
  givesReceiptOfNothing: true,
  exactOnly: {
    // Permits for Permit2 have sequential nonces: of two that are signed at once, one is lost.
    uncovered: 'upto_payments_open',
    too_many_open: 'upto_payments_open',
    too_risky: 'upto_not_trusted',
  },
  // New wallets cost nothing, so they share half of it, and one of them, or one network, gets a tenth.
  riskOf: ({ accountId, now }) => ({
    limits: { all: maxAtRisk, strangers: maxAtRisk / 2n, each: maxOfOne },
    since: now - dayMs,
    client,
    accountId,
  }),
  produce: async (payment) => {
    const { result, charge } = await sale.produce(payment);
    return { result, charge: toChargedUnits(charge, { decimals, most: payment.amount }) };
  },
});

/** The work was begun and its cost is not known, so its proof is neither freed nor settled. */
export class WorkNotEndedError extends Error {
  override readonly name = 'WorkNotEndedError';
}

/** How a request is sold by the scheme `upto`: it is paid after the work, at most the price. */
export interface UptoSale {
  /** The longest time that `produce` takes. */
  longestMs: number;
  /**
   * Does the work, makes the JSON text that is stored with the payment (null: none), and says what the work costs: at
   * most the price. Zero is not settled. When it throws, nothing is charged and the error is passed on; but a
   * WorkNotEndedError leaves the payment as it is. Its charge is settled even if the client has gone.
   */
  produce: (payment: Payment) => Promise<{ result: string | null; charge: Nano }>;
}

export const uptoTermsOf = (sale: UptoSale | undefined): UptoTerms | null =>
  sale === undefined ? null : { workSeconds: Math.ceil(sale.longestMs / 1_000) };

/** Rounds up to the asset's smallest unit, at most `most`, which the buyer signed. Throws RangeError below zero. */
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
/** Owed by all payers for calls under way, and for those that failed within a day: 50 of the dearest calls ($1). */
const maxAtRisk = 50n * nanoPerUsd;
/** The dearest call that is paid after the work, and the most that one payer, or one network, may owe. */
export const maxOfOne = maxAtRisk / 10n;
