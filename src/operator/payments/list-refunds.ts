import { z } from 'zod';
import { AppError } from '../../kit/errors.ts';
import { requirePayment } from '../../purchases/find-payments.ts';
import type { PaymentRefund, Store } from '../../store/store.ts';
import { limitField, uuidField } from '../fields.ts';
import { operatorRead } from '../operator-operation.ts';
import { paymentField } from './payment-view.ts';
import { openTokenTexts } from './token-texts.ts';
import { requireFound } from '../require-found.ts';
import { exampleRefund, refundSchema, toRefundView } from './refund-view.ts';

const maxListed = 10_000;

const isOpen = ({ state }: PaymentRefund): boolean => state === 'planned' || state === 'sending';

interface Wanted {
  payment?: string | undefined;
  open: boolean;
  all: boolean;
  before?: string | undefined;
  limit: number;
}

const findRefunds = async (
  { payment: given, open, all, before, limit }: Wanted,
  store: Store,
): Promise<PaymentRefund[]> => {
  if (!all && before === undefined) {
    if (given === undefined) return store.listRefunds({ payment: null, limit });
    const { identity: payment } = await requirePayment(store, given);
    if (!open) return store.listRefunds({ payment, limit });
    return (await store.listRefunds({ payment, limit: maxListed })).filter(isOpen).slice(0, limit);
  }
  if (given !== undefined || open)
    throw new AppError(
      'invalid_parameter',
      'Name a payment, or list the refunds of all payments; not both.',
      { param: 'all' },
    );
  const last = before === undefined ? null : requireFound(await store.getRefund(before), 'refund', before);
  return store.listNewestRefunds({ before: last && { createdAt: last.createdAt, id: last.id }, limit });
};

export const listRefunds = operatorRead({
  name: 'list_payment_refunds',
  title: 'List refunds of payments',
  description:
    'The open refunds, oldest first; with `payment`, all of its refunds; with `all`, those of all payments, newest first.',
  group: 'payments',
  path: '/payment-refunds',
  fields: {
    payment: paymentField.optional(),
    open: z.boolean().default(false).describe('Only open ones, of this payment too.'),
    all: z.boolean().default(false).describe('Also ended ones, of all payments, newest first.'),
    before: uuidField.optional().describe('Of all, only those older than this refund: the next page.'),
    limit: limitField(maxListed, 1_000),
  },
  output: z.strictObject({ refunds: z.array(refundSchema), has_more: z.boolean() }),
  answer: 'PaymentRefundPage',
  example: { input: { all: true, limit: 20 }, answer: { refunds: [exampleRefund], has_more: false } },
  errors: ['payment_not_found', 'payment_ambiguous', 'refund_not_found'],
  handle: async (wanted, services) => {
    const { limit } = wanted;
    const tokens = await openTokenTexts(services);
    const found = await findRefunds({ ...wanted, limit: limit + 1 }, services.store);
    return {
      refunds: found.slice(0, limit).map((refund) => toRefundView(refund, tokens)),
      has_more: found.length > limit,
    };
  },
});
