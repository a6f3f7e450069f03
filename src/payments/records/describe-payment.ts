import { toIso } from '../../kit/clock.ts';
import { formatUsd } from '../../kit/money.ts';
import type { Payment } from '../../store/store.ts';

const abandoned =
  'The process that worked on it ended: the gateway releases the proof, and its buyer can send it again.';
const unsent =
  'Its buyer gets the answer, and is charged, by sending the same proof again; otherwise it expires by itself.';
const askChain = 'The gateway asks the chain again by itself; a reconciliation asks now.';

/** Says in whole sentences how far a payment got and what the operator can do. */
export const describePayment = (payment: Payment, now: number): { happened: string; advice: string } => {
  const { state, leaseUntil, transaction } = payment;
  const because = payment.reason === null ? '' : ` (${payment.reason})`;
  const sent = transaction === null ? 'Its transaction is not known.' : `Its transaction is ${transaction}.`;
  const described = (happened: string, advice: string) => ({ happened, advice });
  /** A payment that a process works on needs no advice. */
  const unlessLeased = (advice: string): string =>
    leaseUntil !== null && leaseUntil > now
      ? `A process works on it and has the lease until ${toIso(leaseUntil)}.`
      : advice;
  switch (state) {
    case 'reserved':
      return described(
        'The proof was received and is being verified. Nothing was charged.',
        unlessLeased(abandoned),
      );
    case 'verified':
      return described(
        'The proof is valid, and the answer is being produced. Nothing was charged.',
        unlessLeased(abandoned),
      );
    case 'produced':
      return described('The answer is stored, but not charged for yet.', unlessLeased(unsent));
    case 'broadcasting':
      return described(`The settlement has begun and may have been sent. ${sent}`, unlessLeased(askChain));
    case 'unknown':
      return described(`The buyer may have been charged, or may still be${because}. ${sent}`, askChain);
    case 'settled':
    case 'delivered': {
      const raised =
        payment.credit === null || payment.accountId === null
          ? ''
          : ` It raised the balance of account ${payment.accountId} by $${formatUsd(payment.credit)}; a refund takes it ` +
            'from there.';
      const answered =
        state === 'settled'
          ? 'The store has no record that its buyer was answered; the same proof gets the answer.'
          : 'Its buyer was answered.';
      return described(`The chain has the payment. ${answered}${raised}`, 'It can be refunded.');
    }
    case 'rejected':
      return described(
        `The proof was refused${because}. Nothing was charged.`,
        'There is nothing to do. The same proof may be sent again.',
      );
    case 'failed':
      return described(
        `The settlement failed${because}. It is proven that the buyer was not charged.`,
        'There is nothing to do. The buyer can pay again.',
      );
  }
};
