import { z } from 'zod';
import { AppError, wrongField } from '../../kit/errors.ts';
import { requirePayment } from '../../payments/records/find-payments.ts';
import { createTokenTexts, type TokenTexts } from '../../payments/records/token-amount.ts';
import { moveRefund } from '../../payments/refunds/refund-events.ts';
import type { WantedRefund } from '../../payments/refunds/refund-intent.ts';
import type { RefundEnd } from '../../payments/refunds/refund-payment.ts';
import { checkRefund, runRefund, type RefundContext } from '../../payments/refunds/run-refund.ts';
import type { PaymentRefund, Store } from '../../store/store.ts';
import { limitField, lineField, uuidField } from '../fields.ts';
import { readVerb, writeVerb, type OperatorServices, requireFound } from '../verb.ts';
import { defineView, toPage } from '../../operations/view.ts';
import { openTokenTexts, paymentField, refundTable, refundView, textOrNull } from './payment-view.ts';

const { example } = refundView;

const maxListed = 10_000;

const isOpen = ({ state }: PaymentRefund): boolean => state === 'planned' || state === 'sending';

const listFields = {
  payment: paymentField.optional(),
  open: z.boolean().default(false).describe('Only open ones, of this payment too.'),
  all: z.boolean().default(false).describe('Also ended ones, of all payments, newest first.'),
  before: uuidField.optional().describe('Of all, only those older than this refund: the next page.'),
  limit: limitField(maxListed, 1_000),
};

const findRefunds = async (
  { payment: given, open, all, before, limit }: z.output<z.ZodObject<typeof listFields>>,
  store: Store,
): Promise<PaymentRefund[]> => {
  if (!all && before === undefined) {
    if (given === undefined) return store.listRefunds({ payment: null, limit });
    const { identity: payment } = await requirePayment(store, given);
    if (!open) return store.listRefunds({ payment, limit });
    return (await store.listRefunds({ payment, limit: maxListed })).filter(isOpen).slice(0, limit);
  }
  if (given !== undefined || open)
    throw wrongField(
      'invalid_parameter',
      'all',
      'Name a payment, or list the refunds of all payments; not both.',
    );
  const last = before === undefined ? null : requireFound(await store.getRefund(before), 'refund', before);
  return store.listNewestRefunds({ before: last && { createdAt: last.createdAt, id: last.id }, limit });
};

export const listRefunds = readVerb({
  name: 'list_payment_refunds',
  title: 'List refunds of payments',
  description:
    'The open refunds, oldest first; with `payment`, all of its refunds; with `all`, those of all payments, newest first.',
  path: '/payment-refunds',
  fields: listFields,
  output: z.strictObject({ refunds: z.array(refundView.schema), has_more: z.boolean() }),
  answer: 'PaymentRefundPage',
  example: { all: true, limit: 20 },
  errors: ['payment_not_found', 'payment_ambiguous', 'refund_not_found'],
  command: {
    usage: 'payments refunds [payment] [--open] [--all] [--before <refund>] [--limit <count>]',
    examples: ['--open', '0x5f3c9a1e --json'],
    show: async ({ refunds, has_more: hasMore }, services, { all, before }) => ({
      text:
        refunds.length === 0
          ? 'There are no such refunds.'
          : refundTable(refunds, await openTokenTexts(services)),
      // Open refunds, and those of a payment, are no pages.
      ...(hasMore && all !== true && before === undefined
        ? { remark: 'There are more: raise --limit.' }
        : {}),
    }),
  },
  handle: async (wanted, services) => {
    const { limit } = wanted;
    const tokens = await openTokenTexts(services);
    const found = await findRefunds({ ...wanted, limit: limit + 1 }, services.store);
    return toPage('refunds', found, { limit, show: (refund) => refundView.show(refund, tokens) });
  },
});

export const cancelRefund = writeVerb({
  name: 'cancel_payment_refund',
  title: 'Cancel a refund',
  description:
    'Cancels a planned refund before anything of it is signed. A signed refund cannot be canceled, as it may land at any ' +
    'time.',
  path: '/payment-refunds/{refund_id}/cancel',
  fields: { refund_id: uuidField.describe('The id of the refund.') },
  output: z.strictObject({ refund: refundView.schema }),
  answer: 'CanceledPaymentRefund',
  example: { refund_id: example.refund },
  exampleAnswer: { refund: { ...example, state: 'failed', transaction: null, reason: 'canceled' } },
  errors: ['refund_not_found', 'refund_conflict'],
  command: {
    usage: 'payments cancel-refund <refund>',
    show: ({ refund }) => `Refund ${refund.refund} is canceled.`,
  },
  handle: async ({ refund_id: id }, services) => {
    const { store, clock } = services;
    const tokens = await openTokenTexts(services);
    const canceled = await moveRefund({ store, clock }, id, 'canceled', { reason: 'canceled' });
    if (canceled !== null) return { refund: refundView.show(canceled, tokens) };
    const { state } = requireFound(await store.getRefund(id), 'refund', id);
    throw new AppError('refund_conflict', `Refund ${id} is ${state} and cannot be canceled any more.`);
  },
});

const wantedFields = {
  payment: paymentField,
  refund_id: uuidField.describe('Your own UUID of the refund. The same id never pays twice.'),
  amount: lineField(60).optional().describe('In whole tokens, such as "0.05". By default all that is left.'),
  accept_unknown: z
    .boolean()
    .default(false)
    .describe('Also if the gateway does not know whether the payment happened, and you know it did.'),
};

const toWanted = (wanted: z.output<z.ZodObject<typeof wantedFields>>): WantedRefund => ({
  payment: wanted.payment,
  id: wanted.refund_id,
  amount: wanted.amount ?? null,
  acceptsUnknown: wanted.accept_unknown,
});

/** Loads the networks and the keys of refunds. Rejects with ConfigError. */
const openRefundContext = async ({ store, clock, config }: OperatorServices): Promise<RefundContext> => {
  const { x402 } = await config();
  return { store, clock, x402, tokens: createTokenTexts(x402.networks) };
};

/** The answer of a refund that ended, or that stopped on its way. */
const endSchema = z.strictObject({
  outcome: z
    .enum(['settled', 'landed', 'failed', 'open', 'postponed'])
    .describe(
      '`settled`: the transfer is final. `landed`: the chain has it, and a fork could undo it. `failed`: it is proven that ' +
        'nothing was refunded. `open`: it is signed, and its end is not known. `postponed`: nothing was sent. After ' +
        '`landed`, `open` and `postponed`, send the same call again: it never pays twice.',
    ),
  refund: refundView.schema,
  reason: z.string().optional(),
  refusal: z.string().nullable().optional().describe('What the node said to the transaction.'),
  nonce: z.int().nullable().optional().describe('EVM: the nonce of the transaction.'),
});

export type RefundEndView = z.output<typeof endSchema>;

const toEnd = (end: RefundEnd, tokens: TokenTexts): RefundEndView => ({
  outcome: end.outcome,
  refund: refundView.show(end.refund, tokens),
  ...('reason' in end ? { reason: end.reason } : {}),
  ...(end.outcome === 'open' ? { refusal: end.refusal, nonce: end.nonce } : {}),
});

const errors = [
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

type PossibleRefund = Extract<Awaited<ReturnType<typeof checkRefund>>, { outcome: 'possible' }>;

const previewView = defineView<PossibleRefund>({
  cost: 'The highest fee with its coin, such as "0.00001 ETH"; null: not known.',
  opens_account: 'Solana: the cost includes a token account for the payer, who has none.',
})({
  outcome: [z.literal('not_confirmed'), () => 'not_confirmed' as const, 'not_confirmed'],
  refund: [z.string(), ({ intent }) => intent.id, example.refund],
  payment: [z.string(), ({ intent }) => intent.payment.identity, example.payment],
  amount_units: [z.string(), ({ intent }) => intent.amount.toString(), '50000'],
  recipient: [z.string(), ({ intent }) => intent.recipient, example.recipient],
  sender: [
    textOrNull,
    ({ intent, preview }) => preview?.sender ?? intent.existing?.sender ?? null,
    example.sender,
  ],
  cost: [textOrNull, ({ preview }) => preview?.cost ?? null, '0.00001 ETH'],
  opens_account: [z.boolean(), ({ preview }) => preview?.opensAccount ?? false, false],
});

export type RefundPreviewView = typeof previewView.example;

const wantedExample = { payment: '0x5f3c9a1e', refund_id: example.refund };

export const previewRefund = readVerb({
  name: 'preview_payment_refund',
  title: 'Preview a refund',
  description: 'Tells what a refund would send and cost, and whether it is possible. Changes nothing.',
  path: '/payments/{payment}/refund-preview',
  fields: wantedFields,
  output: z.union([previewView.schema, endSchema]).describe('The end of the refund if it has ended.'),
  answer: 'PaymentRefundPreview',
  example: { ...wantedExample, amount: '0.05' },
  errors,
  handle: async (wanted, services) => {
    const context = await openRefundContext(services);
    const checked = await checkRefund(toWanted(wanted), context);
    return checked.outcome === 'ended' ? toEnd(checked.end, context.tokens) : previewView.show(checked);
  },
});

export const sendRefund = writeVerb({
  name: 'refund_payment',
  title: 'Refund a payment',
  description:
    'Sends tokens from the refund wallet to the payer of a settled payment, and records it. Each refund is one transfer: ' +
    'called again with the same `refund_id`, it looks for that transfer, and sends the same transaction again if needed. ' +
    'The refunds of a payment never exceed its amount. It answers when the chain has the transfer, or after two minutes.',
  path: '/payments/{payment}/refunds',
  fields: {
    ...wantedFields,
    note: lineField(500).optional().describe('The reason, for the books; the payer never sees it.'),
  },
  output: endSchema,
  answer: 'PaymentRefundEnd',
  example: { ...wantedExample, amount: '0.10' },
  exampleAnswer: { outcome: 'settled', refund: example },
  errors,
  handle: async ({ note = null, ...wanted }, services) => {
    const context = await openRefundContext(services);
    return toEnd(await runRefund({ ...toWanted(wanted), note }, context), context.tokens);
  },
});
