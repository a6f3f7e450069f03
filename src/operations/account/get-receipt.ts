import { z } from 'zod';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import { AppError } from '../../kit/errors.ts';
import { isUuid } from '../../kit/ids.ts';
import { isJsonObject, type JsonObject } from '../../kit/json.ts';
import { formatUsd, type Nano } from '../../kit/money.ts';
import { maxRefunds } from '../../payments/records/find-payments.ts';
import { isPurchaseOf } from '../../payments/records/wallet-account.ts';
import type { FoundEntry, Job, Payment } from '../../store/store.ts';
import { time, usd } from '../answer-fields.ts';
import { idField, toJobId } from '../id-field.ts';
import { imageJobId } from '../images/image-examples.ts';
import { privateAnswer } from '../answer.ts';
import type { AccountCall, Services } from '../call.ts';
import { opaque } from '../schema-marks.ts';
import { boughtPaymentView, paidStatus, paidStatuses } from './bought-payment.ts';
import type { ChargedUnits } from '../chat/text-job.ts';
import { parametersOf } from '../videos/video-answer.ts';
import { billingStatus, billingStatuses } from '../jobs/list-jobs.ts';
import { readOperation } from '../define-operation.ts';

const output = z.looseObject({
  id: z.string(),
  type: z.enum(['job', 'topup', 'refund', 'adjustment', 'payment']),
  status: z.enum([...new Set([...billingStatuses, ...paidStatuses]), 'posted']),
  currency: z.literal('USD'),
  created_at: time,
  finished_at: time.nullable(),
  balance_after_usd: usd
    .nullable()
    .describe(
      'The balance just after it, holds included, in the order of GET /v1/transactions. Null: it changed no balance, or ' +
        'more than 10,000 transactions are newer.',
    ),
  model: z.string().optional(),
  kind: z.string().optional(),
  units: z
    .record(z.string(), z.int())
    .nullish()
    .describe(
      'What a job was charged for: tokens, seconds, rows or calls. Null: not ended, failed, or not known.',
    ),
  rate: z
    .looseObject({ unit: z.string() })
    .nullish()
    .describe('The price of a unit, frozen when the job was admitted.'),
  hold_usd: usd.optional().describe('The most that the job could cost.'),
  charge_usd: usd.nullish().describe('Null while the job runs.'),
  refunded_usd: usd.optional(),
  amount_usd: usd.optional().describe('By how much a transaction changed the balance.'),
  payment: opaque(
    z
      .looseObject({
        ...boughtPaymentView.schema.shape,
        terms: z.looseObject({}).describe('The terms that were accepted.'),
        refunds: z.array(
          z.looseObject({ amount_units: z.string(), status: z.string(), transaction: z.string().nullable() }),
        ),
      })
      .optional(),
  ).describe('The payment that paid for it, or that it is a receipt of.'),
  receipt: opaque(z.looseObject({ format: z.literal('jws'), signature: z.string() })).describe(
    'All of this, signed with the key in /.well-known/did.json.',
  ),
});

export const getReceipt = readOperation({
  name: 'get_receipt',
  title: 'Read a receipt',
  description:
    'What a job, a top-up, a payment or another transaction of this account cost, and why. Has units, rate, hold, charge, ' +
    'balance after it and payment on the chain, signed. Free.',
  input: z.object({
    receipt_id: idField.describe(
      'The id of a job, a transaction or a purchase, or the hash of a payment on its chain.',
    ),
  }),
  output,
  path: '/v1/receipts/{receipt_id}',
  errors: ['not_found'],
  names: ({ receipt_id: id }) => id,
  tool: { main: ['receipt_id'] },
  docs: {
    answer: 'Receipt',
    examples: [
      {
        summary: 'An image',
        parameters: { receipt_id: imageJobId },
        answer: {
          id: imageJobId,
          type: 'job',
          status: 'charged',
          currency: 'USD',
          created_at: '2026-11-20T09:30:00.000Z',
          finished_at: '2026-11-20T09:30:06.412Z',
          balance_after_usd: '24.96',
          model: 'imagemodel-1.0',
          kind: 'image',
          units: { calls: 1 },
          rate: { unit: 'call', price_usd: '0.04' },
          hold_usd: '0.04',
          charge_usd: '0.04',
          refunded_usd: '0.00',
          receipt: { format: 'jws', signature: 'eyJhbGciOiJFZERTQSJ9.eyJ2ZXJzaW9uIjoxfQ.c2lnbmF0dXJl' },
        },
      },
    ],
    wrong: { receipt_id: 'x'.repeat(301) },
  },
  handle: async ({ receipt_id: given }, { caller: { accountId }, bought }, services: ReceiptServices) => {
    const found = await findReceipt(given, { accountId, bought }, services);
    if (found === null)
      throw new AppError('not_found', 'This account has no receipt with that id. Check the id.');
    // Anybody can find the proof on the chain.
    const receipt = bought === undefined ? found : { ...found, balance_after_usd: null };
    return privateAnswer({ ...receipt, receipt: await sign(receipt, services) });
  },
});

type Receipt = JsonObject & { id: string };
/** `bought`: the payment whose proof came in place of a key. */
type Reader = { accountId: string } & Pick<AccountCall, 'bought'>;
type ReceiptServices = Pick<Services, 'store' | 'x402' | 'publicUrl' | 'clock'>;

/** Signs what a receipt says, in the form of the receipts of x402, which have the payment's own facts at the top. */
const sign = async (receipt: Receipt, { x402, publicUrl, clock }: ReceiptServices): Promise<JsonObject> => {
  const { payment } = receipt;
  const { network, payer, transaction } = isJsonObject(payment) ? payment : {};
  return {
    format: 'jws',
    signature: await x402.signReceipt({
      ...receipt,
      ...(isJsonObject(payment) ? { network: network ?? null, payer: payer ?? null } : {}),
      ...(typeof transaction === 'string' ? { transaction } : {}),
      resourceUrl: `${publicUrl()}/v1/receipts/${receipt.id}`,
      issuedAt: Math.floor(clock.now() / 1000),
    }),
  };
};

const findReceipt = async (
  given: string,
  { accountId, bought }: Reader,
  services: ReceiptServices,
): Promise<Receipt | null> => {
  const { store } = services;
  const id = toJobId(given);
  if (!isUuid(id)) return paymentReceipt(given, { accountId, bought }, services);
  const entry = await store.findEntry({ id, accountId });
  const job =
    entry === null || entry.type === 'debit'
      ? await store.getJob({ id: entry?.jobId ?? id, accountId })
      : null;
  if (job !== null)
    return withPayment(jobReceipt(job, entry), await store.findPaymentOfJob(job.id), services);
  if (entry === null) return null;
  const payment = entry.payment === null ? null : await store.getPayment(entry.payment);
  return withPayment(entryReceipt(entry), payment, services);
};

/** `given`: the identity of a payment, or its transaction. */
const paymentReceipt = async (
  given: string,
  { accountId, bought }: Reader,
  services: ReceiptServices,
): Promise<Receipt | null> => {
  const { store } = services;
  const transaction = /^0x/i.test(given) ? given.toLowerCase() : given;
  const found = bought
    ? [bought]
    : [await store.getPayment(given), ...(await store.findPaymentsByTransaction({ transaction, limit: 2 }))];
  const account = bought ? null : await store.getAccount(accountId);
  const isTheirs = (one: Payment): boolean =>
    one === bought || (account !== null && isPurchaseOf(account, one));
  const payment = found.find((one) => one !== null && isTheirs(one)) ?? null;
  if (payment === null || payment.state === 'rejected') return null;
  const entry =
    payment.creditEntry === null ? null : await store.findEntry({ id: payment.creditEntry, accountId });
  const { identity: id, createdAt, settledAt: finishedAt } = payment;
  const receipt = toReceipt(
    { id, createdAt, finishedAt },
    { type: 'payment', status: paidStatus(payment), entry },
  );
  return withPayment(receipt, payment, services);
};

const withPayment = async (
  receipt: Receipt,
  payment: Payment | null,
  services: ReceiptServices,
): Promise<Receipt> => {
  if (payment === null) return receipt;
  const refunds = await services.store.listRefunds({ payment: payment.identity, limit: maxRefunds });
  return {
    ...receipt,
    payment: {
      ...boughtPaymentView.show(payment, services),
      terms: JSON.parse(payment.requirements),
      refunds: refunds.map(({ amount, state, transaction }) => ({
        amount_units: amount.toString(),
        status: state,
        transaction,
      })),
    },
  };
};

/** `debit`: the entry of the charge; null if there is none. */
const jobReceipt = (job: Job, debit: FoundEntry | null): Receipt => ({
  ...toReceipt(job, { type: 'job', status: billingStatus(job), entry: debit }),
  model: job.model,
  kind: job.kind,
  ...(chargedUnits(job) ?? { units: null, rate: null }),
  hold_usd: formatUsd(job.hold),
  charge_usd: job.holdState === 'open' ? null : formatUsd(job.charged),
  refunded_usd: formatUsd(job.refunded),
});

const entryReceipt = (entry: FoundEntry): Receipt => ({
  ...toReceipt({ ...entry, finishedAt: entry.createdAt }, { type: entry.type, status: 'posted', entry }),
  amount_usd: formatUsd(entry.amount),
});

/** The members of every receipt. `entry`: the one that changed the balance; null if there is none. */
const toReceipt = (
  { id, createdAt, finishedAt }: { id: string; createdAt: number; finishedAt: number | null },
  { type, status, entry }: { type: string; status: string; entry: FoundEntry | null },
): Receipt => ({
  id,
  type,
  status,
  currency: 'USD',
  created_at: toIso(createdAt),
  finished_at: isoOrNull(finishedAt),
  balance_after_usd: entry === null || entry.balanceAfter === null ? null : formatUsd(entry.balanceAfter),
});

/**
 * Returns the units and the rate of a job's charge. For an image or a video, the charge is a whole multiple of the
 * rate. Null for a job that has not ended or was not charged, and for a text job of a version that did not keep it.
 */
const chargedUnits = (job: Job): ChargedUnits | null => {
  if (job.status !== 'done') return null;
  const rateOf = (unit: string, price: Nano): JsonObject => ({ unit, price_usd: formatUsd(price) });
  switch (job.kind) {
    case 'chat':
    case 'responses':
      return keptBill(job);
    case 'image':
    case 'search':
    case 'tool':
      return keptBill(job) ?? { units: { calls: 1 }, rate: rateOf('call', job.charged) };
    case 'video': {
      const { billed_seconds: seconds } = parametersOf(job);
      return { units: { seconds }, rate: rateOf('second', job.charged / BigInt(seconds)) };
    }
  }
};

/** The units and the rate that a job of tokens, or of rows, has with its result. */
const keptBill = ({ metadata }: Job): ChargedUnits | null =>
  (JSON.parse(metadata ?? '{}') as { bill?: ChargedUnits }).bill ?? null;
