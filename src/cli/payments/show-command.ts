import { Argument } from 'commander';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import type { Payment } from '../../store/store.ts';
import type { CommandDefinition } from '../command-definition.ts';
import { formatTable } from '../format-table.ts';
import { maxRefunds, openPaymentViews, refundTable, requirePayment } from './views.ts';

const askChain = 'The gateway asks the chain again by itself; "causeway payments reconcile" asks now.';

interface PaymentStory {
  happened: string;
  advice: string;
}

const nothingToDo = 'There is nothing to do.';

/** Tells in whole sentences how far a payment got and what the operator can do. */
const tellPayment = (payment: Payment, now: number): PaymentStory => {
  const { state, leaseUntil, transaction, isUnchecked } = payment;
  const because = payment.reason === null ? '' : ` (${payment.reason})`;
  const sent = transaction === null ? 'Its transaction is not known.' : `Its transaction is ${transaction}.`;
  const told = (happened: string, advice: string): PaymentStory => ({ happened, advice });
  /** What a process works on needs no advice. */
  const toldUnlessLeased = (happened: string, advice: string): PaymentStory =>
    leaseUntil !== null && leaseUntil > now
      ? told(happened, `A process works on it and has the lease until ${toIso(leaseUntil)}.`)
      : told(happened, advice);
  const abandoned =
    'The process that worked on it ended: the gateway releases the proof, and its buyer can send it again.';
  switch (state) {
    case 'reserved':
      return toldUnlessLeased(
        'The proof was received and is being verified. Nothing was charged.',
        abandoned,
      );
    case 'verified':
      return toldUnlessLeased(
        'The proof is valid, and the answer is being produced. Nothing was charged.',
        abandoned,
      );
    case 'produced':
      return toldUnlessLeased(
        'The answer is stored, but not charged for yet.',
        'Its buyer gets the answer, and is charged, by sending the same proof again; otherwise it expires by itself.',
      );
    case 'broadcasting':
      return toldUnlessLeased(`The settlement has begun and may have been sent. ${sent}`, askChain);
    case 'unknown':
      return told(`The buyer may have been charged, or may still be${because}. ${sent}`, askChain);
    case 'settled':
    case 'delivered': {
      const settled = isUnchecked
        ? 'A facilitator says that the payment is settled. No node of the chain has confirmed that so far.'
        : 'The chain has the payment.';
      const answered =
        state === 'settled'
          ? 'The store has no record that its buyer was answered; the same proof gets the answer.'
          : 'Its buyer was answered.';
      const refundable = 'It can be refunded: "causeway payments refund".';
      return told(`${settled} ${answered}`, isUnchecked ? askChain : refundable);
    }
    case 'rejected':
      return told(
        `The proof was refused${because}. Nothing was charged.`,
        `${nothingToDo} The same proof may be sent again.`,
      );
    case 'failed':
      return told(
        `The settlement failed${because}. It is proven that the buyer was not charged.`,
        `${nothingToDo} The buyer can pay again.`,
      );
  }
};

export const showCommand: CommandDefinition<[string]> = {
  name: 'show',
  summary: 'show a payment, its story and its refunds',
  description:
    'Shows a payment without its proof and the sold answer, tells how far it got and what can be done, and lists its ' +
    'refunds.',
  examples: ['causeway payments show 0x5f3c9a1e', 'causeway payments show 0x5f3c9a1e --json | jq .advice'],
  arguments: [
    new Argument(
      '<payment>',
      'its identity, its transaction, or the beginning of either, as "payments list" shows it',
    ),
  ],
  run: async (session, given) => {
    const { store, clock } = session;
    const views = await openPaymentViews(session);
    const payment = await requirePayment(store, given);
    const refunds = await store.listRefunds({ payment: payment.identity, limit: maxRefunds });
    const { happened, advice } = tellPayment(payment, clock.now());
    const bytes = payment.result === null ? null : Buffer.byteLength(payment.result);
    const facts = {
      ...views.paymentJson(payment),
      check_at: isoOrNull(payment.checkAt),
      lease_until: isoOrNull(payment.leaseUntil),
    };
    const rows = Object.entries({
      ...facts,
      amount: views.amountText(payment),
      stored_answer: bytes && `${bytes} bytes`,
    });
    return {
      json: {
        payment: { ...facts, terms: JSON.parse(payment.requirements), result_bytes: bytes },
        refunds: refunds.map(views.refundJson),
        happened,
        advice,
      },
      text: [
        formatTable(
          { FIELD: 'field', VALUE: 'value' },
          rows.map(([name, value]) => ({ field: name.replaceAll('_', ' '), value })),
        ),
        `${happened}\n${advice}`,
        refunds.length === 0 ? 'It has no refunds.' : refundTable(refunds, views),
      ].join('\n\n'),
    };
  },
};
