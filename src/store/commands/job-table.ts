import type { ErrorEnvelope } from '../../kit/errors.ts';
import type { Nano } from '../../kit/money.ts';
import type { jobKinds, jobStatuses } from '../../rules/jobs.ts';
import {
  columns,
  int64,
  integer,
  json,
  named,
  omit,
  orNull,
  pick,
  text,
  time,
  type RowOf,
} from '../columns.ts';
import { firstOf, statement } from '../statement.ts';

export type JobKind = (typeof jobKinds)[number];
export type JobStatus = (typeof jobStatuses)[number];

const ownFields = {
  id: text(),
  accountId: text(),
  keyId: text(),
  kind: text<JobKind>(),
  /** Public SKU. */
  model: text(),
  status: text<JobStatus>(),
  /** 0 to 100. */
  progress: integer(),
  /** JSON text that identifies the upstream's task; null before it starts. */
  providerTask: orNull(text()),
  attempts: integer(),
  /** How often the job may be started in total before it fails. */
  maxAttempts: integer(),
  leaseOwner: orNull(text()),
  leaseUntil: orNull(time()),
  /** A job that is still queued at this time fails. */
  deadlineAt: time(),
  createdAt: time(),
  startedAt: orNull(time()),
  finishedAt: orNull(time()),
  /**
   * JSON text of the checked request that the runner needs. A text job is never taken over, so it stores only the parts
   * that are shown. Empty after the job's end, because inputs are not kept.
   */
  request: text(),
  /** JSON text of the caller's custom_data, or null. */
  customData: orNull(text()),
  /** JSON text of parameters that stay readable after the job's end (a video's duration, ...), or null. Never a prompt. */
  parameters: orNull(text()),
  /** The end of the job is posted to this URL; null for none. */
  webhookUrl: orNull(text()),
  /** The tag under which its use is counted; null: none. */
  usageTag: orNull(text()),
  /** JSON text of the public result of a done job or failed response: image data array, chat completion, ... */
  result: orNull(text()),
  error: orNull(json<ErrorEnvelope>()),
  /** JSON text of facts for the answer's metadata, such as the provider's kind; never shown as it is. */
  metadata: orNull(text()),
};

/** The columns of a job that is opened. The others have no value yet. */
const newFields = omit(ownFields, 'progress', 'providerTask', 'finishedAt', 'result', 'error', 'metadata');
export const newJobs = columns(newFields);

const holdFields = {
  holdState: text<'open' | 'captured' | 'released'>(),
  charged: named('captured', int64()),
  refunded: int64(),
};

const jobFields = {
  ...ownFields,
  hold: int64(),
  /** Whether the job counts in the budgets of its key, which had one when the caller came. */
  isBudgeted: named('budgeted', { read: (value: bigint | null) => value !== null }),
  /** The payment that must still pay for it, in place of the balance; null for a job that is paid, or costs nothing. */
  unpaidBy: orNull(text()),
  ...holdFields,
};
export type Job = RowOf<typeof jobFields>;
export const toJob = columns(jobFields).read;

const holdColumns = 'h.state as hold_state, h.captured, h.refunded';

export const jobColumns = `${columns(ownFields).list('j.')}, h.amount as hold, h.budgeted, ${holdColumns},
  case when h.debited = 0 and h.state <> 'released' then h.payment end as unpaid_by`;

const shownFields = pick(
  ownFields,
  'id',
  'accountId',
  'keyId',
  'model',
  'kind',
  'status',
  'createdAt',
  'startedAt',
  'finishedAt',
  'error',
);
const summaryFields = { ...shownFields, ...holdFields };
export type JobSummary = RowOf<typeof summaryFields>;
export const toSummary = columns(summaryFields).read;
export const summaryColumns = `${columns(shownFields).list('j.')}, ${holdColumns}`;

/** Reads a job of any account, for commands that return the job they changed. */
export const findJob = statement({
  text: `select ${jobColumns} from jobs j join holds h on h.job_id = j.id where j.id = $1`,
  values: (id: string) => [id],
  read: firstOf(toJob),
});

export interface NewJob
  extends
    Omit<RowOf<typeof newFields>, 'status' | 'attempts' | 'createdAt' | 'startedAt'>,
    Pick<Job, 'isBudgeted'> {
  /** `running` for a job that the calling process runs at once (then with `leaseOwner`), else `queued`. */
  status: 'queued' | 'running';
}

/** The payment of one call. It pays for one job, whatever the idempotency key. */
export interface JobPayment {
  identity: string;
  /**
   * Null: its money is in the balance, which pays for the job. Else the most that the job may cost: the payment is settled
   * when the job has ended. Until then the account is neither credited nor charged, so nobody can spend what may never
   * come.
   */
  most: Nano | null;
}

export const newJobRecord = ({
  job,
  hold,
  payment = null,
  now,
}: {
  job: NewJob;
  hold: Nano;
  payment?: JobPayment | null;
  now: number;
}): Job => ({
  ...job,
  progress: 0,
  providerTask: null,
  attempts: job.status === 'running' ? 1 : 0,
  createdAt: now,
  startedAt: job.status === 'running' ? now : null,
  finishedAt: null,
  result: null,
  error: null,
  metadata: null,
  hold: payment?.most ?? hold,
  unpaidBy: payment === null || payment.most === null ? null : payment.identity,
  holdState: 'open',
  charged: 0n,
  refunded: 0n,
});

export interface JobEnd extends Pick<Job, 'result' | 'error' | 'metadata'> {
  status: 'done' | 'failed';
  now: number;
}

/** The parts of an ended job that only the store knows. */
export type EndedFields = Pick<Job, 'progress' | 'providerTask' | 'charged'>;

/** Makes the job that `finishJob` leaves in the store. */
export const endedJobRecord = (
  job: Job,
  { status, result, error, metadata, now }: JobEnd,
  { progress, providerTask, charged }: EndedFields,
): Job => ({
  ...job,
  status,
  progress,
  providerTask,
  leaseOwner: null,
  leaseUntil: null,
  finishedAt: now,
  request: '',
  result,
  error,
  metadata,
  holdState: charged > 0n ? 'captured' : 'released',
  unpaidBy: charged > 0n ? job.unpaidBy : null,
  charged,
});

/** What was paid for the job of a hold `h`, less refunds: nothing as long as its payment has not been debited. */
export const paidOfHold = '(h.captured - h.refunded) * coalesce(h.debited, 1)';
