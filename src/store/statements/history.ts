import type { CommandInput } from '../commands.ts';
import { toEntry, toError, toTime, type EntryRow, type JobRow, type SqlValue } from '../rows.ts';
import type { EntryWithModel, HistoryPosition, JobSummary, UsageSum } from '../store.ts';
import { eachOf, type Statement } from './statement.ts';

/** Above every possible position. */
const top: HistoryPosition = { createdAt: Number.MAX_SAFE_INTEGER, id: '' };

const pageValues = ({ accountId, limit, before }: CommandInput<'listJobs'>): SqlValue[] => {
  const { createdAt, id } = before ?? top;
  return [accountId, createdAt, id, limit];
};

type SummaryRow = Pick<
  JobRow,
  | 'id'
  | 'account_id'
  | 'model'
  | 'kind'
  | 'status'
  | 'created_at'
  | 'started_at'
  | 'finished_at'
  | 'error'
  | 'hold_state'
  | 'captured'
  | 'refunded'
>;

const toSummary = (row: SummaryRow): JobSummary => ({
  id: row.id,
  accountId: row.account_id,
  model: row.model,
  kind: row.kind,
  status: row.status,
  createdAt: Number(row.created_at),
  startedAt: toTime(row.started_at),
  finishedAt: toTime(row.finished_at),
  error: toError(row.error),
  holdState: row.hold_state,
  charged: row.captured,
  refunded: row.refunded,
});

export const listJobs: Statement<CommandInput<'listJobs'>, SummaryRow, JobSummary[]> = {
  name: 'list_jobs',
  text: () => `select j.id, j.account_id, j.model, j.kind, j.status, j.created_at, j.started_at, j.finished_at,
      j.error, h.state as hold_state, h.captured, h.refunded
    from jobs j join holds h on h.job_id = j.id
    where j.account_id = $1 and (j.created_at, j.id) < ($2, $3)
    order by j.created_at desc, j.id desc limit $4`,
  values: pageValues,
  read: eachOf(toSummary),
};

type EntryWithModelRow = EntryRow & { model: string | null };

export const listEntries: Statement<CommandInput<'listEntries'>, EntryWithModelRow, EntryWithModel[]> = {
  name: 'list_entries',
  text: () => `select e.id, e.account_id, e.type, e.amount, e.job_id, e.note, e.created_at, j.model
    from ledger_entries e left join jobs j on j.id = e.job_id
    where e.account_id = $1 and (e.created_at, e.id) < ($2, $3) and e.amount <> 0
    order by e.created_at desc, e.id desc limit $4`,
  values: pageValues,
  read: eachOf((row: EntryWithModelRow) => ({ ...toEntry(row), model: row.model })),
};

interface UsageRow extends Pick<JobRow, 'model' | 'kind' | 'status'> {
  day: bigint;
  jobs: bigint;
  charged: bigint;
  refunded: bigint;
}

const toUsageSum = ({ model, kind, status, day, jobs, charged, refunded }: UsageRow): UsageSum => ({
  model,
  kind,
  status,
  day: Number(day),
  jobs: Number(jobs),
  charged,
  refunded,
});

/** Both engines divide integers to integers. A day has 86400000 ms. */
export const sumUsage: Statement<CommandInput<'sumUsage'>, UsageRow, UsageSum[]> = {
  name: 'sum_usage',
  text: () => `select j.model, j.kind, j.status, j.created_at / 86400000 as day, count(*) as jobs,
      cast(sum(h.captured) as bigint) as charged, cast(sum(h.refunded) as bigint) as refunded
    from jobs j join holds h on h.job_id = j.id
    where j.account_id = $1 and j.created_at >= $2 and j.created_at < $3
    group by 1, 2, 3, 4 order by 4, 1, 2, 3`,
  values: ({ accountId, from, to }) => [accountId, from, to],
  read: eachOf(toUsageSum),
};
