import { z } from 'zod';
import { toIso } from '../../kit/clock.ts';
import { formatUsd } from '../../kit/money.ts';
import { time, usd } from '../../operations/answer-fields.ts';
import type { LedgerEntry } from '../../store/store.ts';
import { lineField, uuidField } from '../fields.ts';

/** The fields of every change of a balance, beside its place and amount. */
export const entryFields = {
  reason: lineField(500).describe('The reason, for the books; customers never see it.'),
  entry_id: uuidField.describe(
    'A new UUID of your own for the ledger entry. Send the same one when you repeat a call: one id posts once.',
  ),
};

export const entrySchema = z.strictObject({
  id: z.string(),
  account_id: z.string(),
  type: z.enum(['topup', 'debit', 'refund', 'adjustment']),
  amount_usd: usd.describe('Credits positive, debits negative.'),
  job_id: z.string().nullable(),
  reason: z.string().nullable(),
  created_at: time,
});

type EntryView = z.output<typeof entrySchema>;

export const toEntryView = (entry: LedgerEntry): EntryView => ({
  id: entry.id,
  account_id: entry.accountId,
  type: entry.type,
  amount_usd: formatUsd(entry.amount),
  job_id: entry.jobId,
  reason: entry.note,
  created_at: toIso(entry.createdAt),
});

/** For examples. */
export const exampleEntry: EntryView = {
  id: '7c1d8f52-94a6-4a0e-8f3b-6f1f8a5e2b90',
  account_id: '0b9f3c1e-5d0a-4c59-9a61-2f6f0f5f7d11',
  type: 'topup',
  amount_usd: '25.00',
  job_id: null,
  reason: 'Invoice 2041',
  created_at: '2026-11-01T08:00:00.000Z',
};
