import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import { AppError } from '../../kit/errors.ts';
import { idField } from '../../operations/id-field.ts';
import { requirePayment } from '../../payments/records/find-payments.ts';
import { refundNotPossible } from '../../payments/refunds/refund-intent.ts';
import { checkRefunds } from '../../payments/refunds/check-refunds.ts';
import { openCheckingGate, reconcilePayments as check } from '../../payments/sale/reconcile-payments.ts';
import type { X402Gate } from '../../payments/sale/gate.ts';
import { paymentStates } from '../../rules/payments.ts';
import { limitField } from '../fields.ts';
import { writeVerb, type OperatorServices } from '../verb.ts';
import { like } from '../../operations/view.ts';
import { paymentField, paymentView } from './payment-view.ts';

/** Runs `work` with a gate of its own that checks payments and takes none. */
const withCheckingGate = async <T>(
  { store, clock, config }: OperatorServices,
  work: (gate: X402Gate, networks: Config['x402']['networks']) => Promise<T>,
): Promise<T> => {
  const { networks } = (await config()).x402;
  const gate = openCheckingGate({ store, clock, networks });
  try {
    return await work(gate, networks);
  } finally {
    await gate.close();
  }
};

const payment = like(z.string(), paymentView.example.payment);
const state = z.enum(paymentStates);
const reason = z.string().nullable();

export const reconcilePayments = writeVerb({
  name: 'reconcile_payments',
  title: 'Ask the chains for the outcome of open payments and refunds',
  description:
    'Asks the chains now for the outcome of open payments, newest first, also before their next check is due, and of ' +
    'sent refunds. It sends only settlements of work that came before its payment, and leaves payments on networks ' +
    'alone that are not configured.',
  path: '/payments/reconcile',
  fields: { limit: limitField(10_000, 1_000) },
  output: z.strictObject({
    examined: like(z.int(), 2),
    resolved: like(z.int(), 1),
    left: like(z.int().describe('How many of the examined payments are still open.'), 1),
    in_progress: like(z.int().describe('How many were left alone, as a process works on them.'), 0),
    not_configured: like(z.record(z.string(), z.int()).describe('How many were left alone, by network.'), {}),
    open: z.array(
      z.strictObject({ payment, state: like(state, 'unknown'), reason: like(reason, 'rpc_unavailable') }),
    ),
    refunds: z.array(
      z.strictObject({
        refund: z.string(),
        outcome: z.enum(['settled', 'landed', 'failed', 'open']),
        reason,
      }),
    ),
  }),
  answer: 'Reconciliation',
  example: { limit: 100 },
  exampleAnswer: { refunds: [] },
  handle: ({ limit }, services) =>
    withCheckingGate(services, async (gate, networks) => {
      const { store } = services;
      const { signal } = services.gateway ?? new AbortController();
      const checked = await check({ store, gate, networks, limit, signal });
      const refunds = await checkRefunds({ ...services, networks, limit, signal });
      const { examined } = checked;
      const open = checked.open.map(({ identity, state, reason }) => ({ payment: identity, state, reason }));
      return {
        examined,
        resolved: examined - open.length,
        left: open.length,
        in_progress: checked.inProgress,
        not_configured: Object.fromEntries(checked.notConfigured),
        open,
        refunds: refunds.map(({ refund, outcome, reason }) => ({ refund: refund.id, outcome, reason })),
      };
    }),
});

export const reconcilePayment = writeVerb({
  name: 'reconcile_payment',
  title: 'Ask the chain for the outcome of a payment',
  description:
    'Asks the chain now for the outcome of one payment. It sends only a settlement of work that came first.',
  path: '/payments/{payment}/reconcile',
  fields: {
    payment: paymentField,
    transaction: idField
      .optional()
      .describe('The transaction of the payment, if you have found it on the chain.'),
  },
  output: z.strictObject({
    payment,
    state: like(state, 'settled'),
    reason: like(reason, null),
    transaction: like(z.string().nullable(), '0x0d2e77'),
  }),
  answer: 'ReconciledPayment',
  example: { payment: '0x5f3c9a1e' },
  errors: ['payment_not_found', 'payment_ambiguous', 'payment_in_progress', 'network_not_configured'],
  handle: async ({ payment: given, transaction = null }, services) => {
    const payment = await requirePayment(services.store, given);
    return withCheckingGate(services, async (gate, networks) => {
      if (!networks.some(({ network }) => network === payment.network))
        throw refundNotPossible('not_configured', payment);
      const { identity } = payment;
      const checked = await gate.reconcileOne({ identity, transaction });
      if (checked === null)
        throw new AppError(
          'payment_in_progress',
          'The gateway works on this payment. Try again in a minute.',
        );
      const { state, reason } = checked;
      return { payment: identity, state, reason, transaction: checked.transaction };
    });
  },
});
