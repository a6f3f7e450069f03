import type { CrashSite, Purchase } from './crash-site.ts';
import type { PayEnd } from './gate-commands.ts';
import { comeBack, payOnce } from './recover.ts';
import type { Gate } from './start-gate.ts';
import type { PaymentState } from '../../../src/rules/payments.ts';

/** What store and chain say of a payment. */
export interface Facts {
  /** Null when the store does not know it. */
  state: PaymentState | null;
  result: string | null;
  transaction: string | null;
  /** How often the buyer was charged. */
  charges: number;
  /** How often the buyer's balance was raised; null where the payment raises none. */
  credits: number | null;
  /** Whether the stored transaction moved the buyer's money to the seller, by the chain. */
  isPaidByTransaction: boolean;
}

/** A buyer who comes back after the death of the process that served him. */
export interface Return {
  before: Facts;
  /** What each try with the same proof was answered with; only the last is an end. */
  ends: PayEnd[];
  after: Facts;
  /** What the proof is answered with once more. */
  replay: PayEnd;
  /** What it is answered with for another request. */
  other: PayEnd;
}

export const factsOf = async (site: CrashSite, purchase: Purchase): Promise<Facts> => {
  const payment = await site.payment(purchase);
  const transaction = payment?.transaction ?? null;
  return {
    state: payment?.state ?? null,
    result: payment?.result ?? null,
    transaction,
    charges: await site.chargesOf(purchase),
    credits: await site.creditsOf(purchase),
    isPaidByTransaction: transaction !== null && (await site.isPaidBy(transaction, purchase)),
  };
};

/** The buyer comes back with the same proof, is answered, and tries what else it may buy. */
export const watchReturn = async (site: CrashSite, gate: Gate, purchase: Purchase): Promise<Return> => {
  const before = await factsOf(site, purchase);
  const ends = await comeBack(gate, purchase);
  return {
    before,
    ends,
    after: await factsOf(site, purchase),
    replay: await payOnce(gate, purchase),
    other: await payOnce(gate, { ...purchase, sale: `not ${purchase.sale}` }),
  };
};
