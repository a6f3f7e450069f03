import { z } from 'zod';
import { ConfigError, instead } from '../../kit/errors.ts';
import { formatUsd } from '../../kit/money.ts';
import { timeOf, timeOrNullOf, usdOrNull } from '../../operations/answer-fields.ts';
import { idField } from '../../operations/id-field.ts';
import { ownPartOf } from '../../payments/records/find-payments.ts';
import { createTokenTexts, type TokenTexts } from '../../payments/records/token-amount.ts';
import type { ListedPayment, PaymentRefund } from '../../store/store.ts';
import type { OperatorServices } from '../verb.ts';
import { defineView } from '../../operations/view.ts';
import { formatTable } from '../format-table.ts';
import { amountOf, paymentStates } from '../../rules/payments.ts';

export const paymentField = idField.describe(
  'A payment: its identity, its transaction, or the beginning of either.',
);

export const text = z.string();
export const textOrNull = z.string().nullable();
const network = z.string().describe('CAIP-2.');
const tokens = z.string().nullable().describe('In whole tokens, such as "0.10"; null: an unknown token.');
const units = z.string().describe('In the smallest units of the token.');

/** Leaves out the proof, which others could send, and the sold answer. */
export const paymentView = defineView<ListedPayment, TokenTexts>({
  payment: 'Its identity: what the chain accepts only once.',
  account_id: 'The account whose balance it raises, or whose `Idempotency-Key` came with it.',
  credit_usd: 'By how much; null: it buys an answer alone.',
  job_id: 'The job that it paid for.',
  credited_usd: 'How much of that is on the account, or spent: less what is refunded or was taken back.',
})({
  payment: [
    z.string(),
    'identity',
    'eip155:84532:0x036cbd53842c5426634e7929541ec2318f3dcf7e:0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc:0x5f3c9a1e',
  ],
  state: [z.enum(paymentStates), 'state', 'delivered'],
  network: [network, 'network', 'eip155:84532'],
  asset: [text, 'asset', '0x036CbD53842c5426634e7929541eC2318f3dCF7e'],
  amount: [
    tokens,
    (payment, { tokenAmount }) => tokenAmount({ ...payment, amount: amountOf(payment) }),
    '0.10',
  ],
  amount_units: [units, (payment) => amountOf(payment).toString(), '100000'],
  payer: [textOrNull, 'payer', '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'],
  pay_to: [text, 'payTo', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
  transaction: [textOrNull, 'transaction', '0x0d2e77'],
  reason: [textOrNull, 'reason', null],
  facilitator: [textOrNull, 'facilitator', 'local'],
  payment_id: [textOrNull, 'paymentId', null],
  account_id: [textOrNull, 'accountId', null],
  credit_usd: [textOrNull, ({ credit }) => usdOrNull(credit), null],
  credited_usd: [textOrNull, ({ credit, credited }) => (credit === null ? null : formatUsd(credited)), null],
  job_id: [textOrNull, 'jobId', null],
  created_at: timeOf('createdAt', '2026-11-01T08:00:00.000Z'),
  updated_at: timeOf('updatedAt', '2026-11-01T08:00:02.000Z'),
  settled_at: timeOrNullOf('settledAt', '2026-11-01T08:00:02.000Z'),
});

const { example } = paymentView;

/** Leaves out the signed transaction, which others could send. */
export const refundView = defineView<PaymentRefund, TokenTexts>({ refund: 'Its id.' })({
  refund: [z.string(), 'id', '7c1d8f52-94a6-4a0e-8f3b-6f1f8a5e2b90'],
  payment: [text, 'payment', example.payment],
  state: [z.enum(['planned', 'sending', 'settled', 'failed']), 'state', 'settled'],
  network: [network, 'network', example.network],
  asset: [text, 'asset', example.asset],
  amount: [tokens, (refund, { tokenAmount }) => tokenAmount(refund), example.amount],
  amount_units: [units, ({ amount }) => amount.toString(), example.amount_units],
  recipient: [text, 'recipient', example.payer ?? ''],
  sender: [textOrNull, 'sender', example.pay_to],
  transaction: [textOrNull, 'transaction', '0x77ab01'],
  reason: [textOrNull, 'reason', null],
  note: [textOrNull, 'note', 'Half of the profiles were gone'],
  created_at: timeOf('createdAt', example.created_at),
  updated_at: timeOf('updatedAt', example.updated_at),
});

type PaymentShown = typeof paymentView.example;
type RefundShown = typeof refundView.example;

/** Creates writers of amounts. While a setting is wrong, they know the built-in tokens alone, so payments can be shown. */
export const openTokenTexts = async ({ config }: Pick<OperatorServices, 'config'>): Promise<TokenTexts> => {
  const settings = await config().catch(instead(null, (error) => error instanceof ConfigError));
  return createTokenTexts(settings?.x402.networks ?? []);
};

/** `0.10 USDC` */
export const amountTextOf = (
  { network, asset, amount_units: written }: Pick<PaymentShown, 'network' | 'asset' | 'amount_units'>,
  { amountText }: TokenTexts,
): string => amountText({ network, asset, amount: BigInt(written) });

const shortLength = 18;

/** Commands accept the short form of a payment's identity. */
const tableOf =
  (columns: string) =>
  (views: readonly (PaymentShown | RefundShown)[], tokens: TokenTexts): string =>
    formatTable(
      columns,
      views.map((view) => ({
        ...view,
        payment: ownPartOf({ identity: view.payment }).slice(0, shortLength),
        amount: amountTextOf(view, tokens),
      })),
    );

export const paymentTable = tableOf('payment state >amount network created_at updated_at=CHANGED payer');

export const refundTable = tableOf('refund state >amount created_at payment transaction');
