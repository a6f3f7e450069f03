import { toIso } from '../../kit/clock.ts';
import type { Payment } from '../../store/store.ts';

/** What happened to a payment, and what the operator can do about it. */
export interface PaymentStory {
  happened: string;
  advice: string;
}

const askChain = 'The gateway asks the chain again by itself; "causeway payments reconcile" asks now.';

const because = ({ reason }: Payment): string => (reason === null ? '' : ` (${reason})`);

const sent = ({ transaction }: Payment): string =>
  transaction === null ? 'No transaction of it is known.' : `Its transaction is ${transaction}.`;

/** In whole sentences, for people. */
export const tellPayment = (payment: Payment, now: number): PaymentStory => {
  const { state, leaseUntil } = payment;
  const isWorkedOn = leaseUntil !== null && leaseUntil > now;
  const atWork = `A process works on it until ${toIso(leaseUntil ?? now)}, unless it goes on.`;
  switch (state) {
    case 'reserved':
    case 'verified':
      return {
        happened:
          state === 'reserved'
            ? 'The proof was taken in, and is being checked. Nothing was charged.'
            : 'The proof is good, and the answer is being made. Nothing was charged.',
        advice: isWorkedOn
          ? atWork
          : 'The process that worked on it is gone: the gateway gives the proof free, and its buyer can send it again.',
      };
    case 'produced':
      return {
        happened: 'The answer is stored, and was not charged for yet.',
        advice: isWorkedOn
          ? atWork
          : 'Its buyer gets the answer, and is charged, when he sends the same proof again; else it ends by itself.',
      };
    case 'broadcasting':
      return {
        happened: `The settlement was begun and may be out. ${sent(payment)}`,
        advice: isWorkedOn ? atWork : askChain,
      };
    case 'unknown':
      return {
        happened: `The buyer may have been charged, or may yet be${because(payment)}. ${sent(payment)}`,
        advice: askChain,
      };
    case 'settled':
    case 'delivered': {
      const settled = payment.isUnchecked
        ? 'A facilitator says that the payment is settled. No node of the chain has confirmed that so far.'
        : 'The chain has the payment.';
      return {
        happened:
          state === 'settled'
            ? `${settled} That its buyer was answered is not written down; the same proof gets the answer.`
            : `${settled} Its buyer was answered.`,
        advice: payment.isUnchecked ? askChain : 'It can be given back: "causeway payments refund".',
      };
    }
    case 'rejected':
      return {
        happened: `The proof was refused${because(payment)}. Nothing was charged.`,
        advice: 'There is nothing to do. The same proof may be sent again.',
      };
    case 'failed':
      return {
        happened: `The settlement failed${because(payment)}. It is proven that the buyer was not charged.`,
        advice: 'There is nothing to do. The buyer can pay anew.',
      };
  }
};
