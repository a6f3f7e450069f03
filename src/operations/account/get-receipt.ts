import { z } from 'zod';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import { AppError } from '../../kit/errors.ts';
import { isUuid } from '../../kit/ids.ts';
import type { JsonObject } from '../../kit/json.ts';
import { formatUsd } from '../../kit/money.ts';
import { billingStatus, billingStatuses } from '../../ledger/billing-status.ts';
import type { FoundEntry, Job } from '../../store/store.ts';
import { time, usd } from '../answer-fields.ts';
import { idField } from '../id-field.ts';
import { imageJobId } from '../images/image-examples.ts';
import { jsonAnswer, type Services } from '../operation.ts';
import { readOperation } from '../read-operation.ts';
import { opaque } from '../schema-marks.ts';
import { chargedUnits } from './charged-units.ts';

const output = z.looseObject({
  id: z.string(),
  type: z.enum(['job', 'topup', 'refund', 'adjustment']),
  status: z.enum([...billingStatuses, 'posted']),
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
  units: opaque(z.record(z.string(), z.int()).nullish()).describe(
    'What a job was charged for: tokens, seconds or calls. Null: not charged, or not known.',
  ),
  rate: opaque(z.looseObject({ unit: z.string() }).nullish()).describe(
    'The price of a unit, frozen when the job was admitted.',
  ),
  hold_usd: usd.optional().describe('The most that the job could cost.'),
  charge_usd: usd.nullish().describe('Null while the job runs.'),
  refunded_usd: usd.optional(),
  amount_usd: usd.optional().describe('By how much a transaction changed the balance.'),
  receipt: opaque(z.looseObject({ format: z.literal('jws'), signature: z.string() })).describe(
    'All of this, signed with the key in /.well-known/did.json.',
  ),
});

export const getReceipt = readOperation({
  name: 'get_receipt',
  title: 'Read a receipt',
  description:
    'What a job, a top-up or another transaction of this account cost, and why: units, rate, hold, charge and balance ' +
    'after it, signed. Free.',
  input: z.object({ receipt_id: idField.describe('The id of a job or of a transaction.') }),
  output,
  path: '/v1/receipts/{receipt_id}',
  errors: ['not_found'],
  docs: {
    answer: 'Receipt',
    description: null,
    examples: [
      {
        summary: 'An image',
        parameters: { receipt_id: imageJobId },
        status: 200,
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
    headers: {},
    mayBeSandbox: false,
  },
  handle: async ({ receipt_id: given }, { caller: { accountId } }, services) => {
    const receipt = await findReceipt(given, accountId, services);
    if (receipt === null)
      throw new AppError('not_found', 'This account has no receipt with that id. Check the id.');
    return jsonAnswer(
      { ...receipt, receipt: await sign(receipt, services) },
      { headers: { 'cache-control': 'no-store' } },
    );
  },
});

type Receipt = JsonObject & { id: string };

/** Signs what a receipt says, in the form of the receipts of x402. */
const sign = async (receipt: Receipt, { x402, publicUrl, clock }: Services): Promise<JsonObject> => ({
  format: 'jws',
  signature: await x402.signReceipt({
    ...receipt,
    resourceUrl: `${publicUrl()}/v1/receipts/${receipt.id}`,
    issuedAt: Math.floor(clock.now() / 1000),
  }),
});

const findReceipt = async (
  given: string,
  accountId: string,
  { store }: Pick<Services, 'store'>,
): Promise<Receipt | null> => {
  const id = given.replace(/^(?:chatcmpl-|resp_)/, '').toLowerCase();
  if (!isUuid(id)) return null;
  const entry = await store.findEntry({ id, accountId });
  const job =
    entry === null || entry.type === 'debit'
      ? await store.getJob({ id: entry?.jobId ?? id, accountId })
      : null;
  if (job !== null) return jobReceipt(job, entry);
  return entry === null ? null : entryReceipt(entry);
};

/** `debit`: the entry of the charge; null if there is none. */
const jobReceipt = (job: Job, debit: FoundEntry | null): Receipt => ({
  id: job.id,
  type: 'job',
  status: billingStatus(job),
  currency: 'USD',
  created_at: toIso(job.createdAt),
  finished_at: isoOrNull(job.finishedAt),
  balance_after_usd: balanceAfter(debit),
  model: job.model,
  kind: job.kind,
  ...(chargedUnits(job) ?? { units: null, rate: null }),
  hold_usd: formatUsd(job.hold),
  charge_usd: job.holdState === 'open' ? null : formatUsd(job.charged),
  refunded_usd: formatUsd(job.refunded),
});

const entryReceipt = (entry: FoundEntry): Receipt => ({
  id: entry.id,
  type: entry.type,
  status: 'posted',
  currency: 'USD',
  created_at: toIso(entry.createdAt),
  finished_at: toIso(entry.createdAt),
  balance_after_usd: balanceAfter(entry),
  amount_usd: formatUsd(entry.amount),
});

const balanceAfter = (entry: FoundEntry | null): string | null =>
  entry === null || entry.balanceAfter === null ? null : formatUsd(entry.balanceAfter);
