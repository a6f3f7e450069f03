import { z } from 'zod';
import { AppError } from '../../kit/errors.ts';
import { formatUsd } from '../../kit/money.ts';
import { refund } from '../../ledger/entries.ts';
import { usd } from '../../operations/answer-fields.ts';
import { idField } from '../../operations/id-field.ts';
import { positiveAmount } from '../fields.ts';
import { operatorWrite } from '../operator-operation.ts';
import { notFound } from '../require-found.ts';
import { entryFields, entrySchema, exampleEntry, toEntryView } from './entry-view.ts';
import { entryConflict } from './posted-entry.ts';

const exampleJob = '0d9e8f7a-6b5c-4d3e-9f2a-1b0c9d8e7f6a';

export const refundJob = operatorWrite({
  name: 'refund_job',
  title: 'Refund the charge of a job',
  description: 'Refunds the charge of a job, whole or in part, at most its charge less earlier refunds.',
  group: 'money',
  path: '/jobs/{job_id}/refund',
  fields: {
    job_id: idField.describe('The id of the job; a chatcmpl- or resp_ id is accepted too.'),
    amount_usd: positiveAmount,
    ...entryFields,
  },
  output: z.strictObject({
    entry: entrySchema,
    refunded_usd: usd.describe('All refunds of this job.'),
    balance_usd: usd.describe('What the account can spend now.'),
  }),
  answer: 'RefundedJob',
  example: {
    input: {
      job_id: exampleJob,
      amount_usd: '0.04',
      reason: 'The picture was unusable',
      entry_id: exampleEntry.id,
    },
    answer: {
      entry: {
        ...exampleEntry,
        type: 'refund',
        amount_usd: '0.04',
        job_id: exampleJob,
        reason: 'The picture was unusable',
      },
      refunded_usd: '0.04',
      balance_usd: '25.00',
    },
  },
  errors: ['job_not_found', 'refund_too_large', 'idempotency_conflict'],
  handle: async (input, services) => {
    const { job_id: publicId, amount_usd: amount, reason, entry_id: entryId } = input;
    const jobId = publicId.replace(/^(?:chatcmpl-|resp_)/, '').toLowerCase();
    const refunded = await refund(services, { jobId, amount, reason, entryId });
    switch (refunded.outcome) {
      case 'no_job':
        throw notFound('job', publicId);
      case 'conflict':
        throw entryConflict();
      case 'too_much':
        throw new AppError(
          'refund_too_large',
          refunded.refundable === 0n
            ? 'Nothing of this job can be refunded: it was not charged, or all of it is refunded.'
            : `At most ${formatUsd(refunded.refundable)} USD of this job can still be refunded, not ${formatUsd(amount)} USD.`,
        );
      case 'refunded':
        return {
          entry: toEntryView(refunded.entry),
          refunded_usd: formatUsd(refunded.refunded),
          balance_usd: formatUsd(refunded.available),
        };
    }
  },
});
