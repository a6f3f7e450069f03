import { toIso } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { formatUsd } from '../../kit/money.ts';
import type { EntryWithModel } from '../../store/store.ts';

/** Makes the public form of a ledger entry (docs/contract.md, "History"), without the operator's note. */
export const toTransaction = (entry: EntryWithModel): JsonObject => ({
  id: entry.id,
  type: entry.type,
  amount_usd: formatUsd(entry.amount),
  currency: 'USD',
  created_at: toIso(entry.createdAt),
  job_id: entry.jobId,
  model: entry.model,
});
