import { z } from 'zod';
import { createRefundUpkeep } from '../../purchases/refunds/refund-upkeep.ts';
import { reconcilePayments as check } from '../../purchases/x402/reconcile-payments.ts';
import { paymentStates } from '../../store/payment-states.ts';
import { limitField } from '../fields.ts';
import { operatorWrite } from '../operator-operation.ts';
import { withCheckingGate } from './with-checking-gate.ts';
import { examplePayment } from './payment-view.ts';

export const reconcilePayments = operatorWrite({
  name: 'reconcile_payments',
  title: 'Ask the chains for the outcome of open payments and refunds',
  description:
    'Asks the chains now for the outcome of open payments, newest first, also before their next check is due, and of ' +
    'sent refunds. It sends nothing, and leaves payments on networks alone that are not configured.',
  group: 'payments',
  path: '/payments/reconcile',
  fields: { limit: limitField(10_000, 1_000) },
  output: z.strictObject({
    examined: z.int(),
    resolved: z.int(),
    left: z.int().describe('How many of the examined payments are still open.'),
    in_progress: z.int().describe('How many were left alone, as a process works on them.'),
    not_configured: z.record(z.string(), z.int()).describe('How many were left alone, by network.'),
    open: z.array(
      z.strictObject({ payment: z.string(), state: z.enum(paymentStates), reason: z.string().nullable() }),
    ),
    refunds: z.array(
      z.strictObject({
        refund: z.string(),
        outcome: z.enum(['settled', 'landed', 'failed', 'open']),
        reason: z.string().nullable(),
      }),
    ),
  }),
  answer: 'Reconciliation',
  example: {
    input: { limit: 100 },
    answer: {
      examined: 2,
      resolved: 1,
      left: 1,
      in_progress: 0,
      not_configured: {},
      open: [{ payment: examplePayment.payment, state: 'unknown', reason: 'rpc_unavailable' }],
      refunds: [],
    },
  },
  handle: ({ limit }, services) =>
    withCheckingGate(services, async (gate, networks) => {
      const { store } = services;
      const { signal } = services.gateway ?? new AbortController();
      const checked = await check({ store, gate, networks, limit, signal });
      const upkeep = await createRefundUpkeep({ ...services, networks })({ limit, signal });
      const { examined } = checked;
      const open = checked.open.map(({ identity, state, reason }) => ({ payment: identity, state, reason }));
      return {
        examined,
        resolved: examined - open.length,
        left: open.length,
        in_progress: checked.inProgress,
        not_configured: Object.fromEntries(checked.notConfigured),
        open,
        refunds: upkeep.map(({ refund, outcome, reason }) => ({ refund: refund.id, outcome, reason })),
      };
    }),
});
