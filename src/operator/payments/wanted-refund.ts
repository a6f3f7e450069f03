import { z } from 'zod';
import type { RefundContext } from '../../purchases/refunds/run-refund.ts';
import type { WantedRefund } from '../../purchases/refunds/refund-intent.ts';
import { createFindToken, createTokenTexts } from '../../purchases/token-amount.ts';
import { lineField, uuidField } from '../fields.ts';
import type { OperatorServices } from '../operator-operation.ts';
import { paymentField } from './payment-view.ts';

/** The fields of a refund that is previewed or sent. */
export const wantedFields = {
  payment: paymentField,
  refund_id: uuidField.describe('Your own UUID of the refund. The same id never pays twice.'),
  amount: lineField(60).optional().describe('In whole tokens, such as "0.05". By default all that is left.'),
  accept_unknown: z
    .boolean()
    .default(false)
    .describe('Also if the gateway does not know whether the payment happened, and you know it did.'),
};

export const toWanted = ({
  payment,
  refund_id: id,
  amount,
  accept_unknown: acceptsUnknown,
}: z.output<z.ZodObject<typeof wantedFields>>): WantedRefund => ({
  payment,
  id,
  amount: amount ?? null,
  acceptsUnknown,
});

/** Loads the networks and the keys of refunds. Rejects with ConfigError. */
export const openRefundContext = async ({
  store,
  clock,
  config,
}: Pick<OperatorServices, 'store' | 'clock' | 'config'>): Promise<RefundContext> => {
  const { x402 } = await config();
  return { store, clock, x402, tokens: createTokenTexts(createFindToken(x402.networks)) };
};

export const refundErrors = [
  'payment_not_found',
  'payment_ambiguous',
  'payment_not_settled',
  'refund_open',
  'refund_conflict',
  'refund_too_large',
  'refund_not_possible',
  'network_not_configured',
  'invalid_setting',
  'chain_unavailable',
] as const;
