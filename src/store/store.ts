import type { ErrorEnvelope } from '../kit/errors.ts';
import type { Nano } from '../kit/money.ts';
import type { paymentStates } from './payment-states.ts';

/**
 * The one interface to durable state, with an adapter for SQLite (embedded) and one for PostgreSQL. Every write is a
 * named command and one atomic unit: when its promise resolves, the whole change is on disk (fsync'd). Times are epoch
 * milliseconds, amounts nano-dollars. Expected refusals are values (`outcome`). A thrown error means that the store
 * itself failed; the write may or may not have happened.
 */
export interface Store {
  readonly kind: 'sqlite' | 'postgres';

  createAccount(input: NewAccount): Promise<Account>;
  getAccount(id: string): Promise<Account | null>;
  /** Lists the oldest first, after the account `afterId` if given. */
  listAccounts(input: { limit: number; afterId?: string }): Promise<Account[]>;
  /** Replaces the account's own terms (JSON text, see src/catalog); null for the defaults. Null if there is no such account. */
  setAccountTerms(input: { id: string; terms: string | null }): Promise<Account | null>;
  /** Returns the account's webhook secrets; `secret` is the first one if it has none. Null if there is no such account. */
  ensureWebhookSecret(input: { accountId: string; secret: string }): Promise<WebhookSecrets | null>;
  /** Makes `secret` the current one. The previous one also signs until `previousUntil`. Null if there is no such account. */
  rotateWebhookSecret(input: {
    accountId: string;
    secret: string;
    previousUntil: number;
  }): Promise<WebhookSecrets | null>;
  /** Null if there is no such account, or it has no secret yet. */
  getWebhookSecrets(accountId: string): Promise<WebhookSecrets | null>;
  /**
   * Returns a permanent secret of the whole deployment, the same for every process. Makes `value` the secret of that
   * name if there is none.
   */
  getOrCreateSecret(input: { name: string; value: string }): Promise<string>;
  /** Null if there is no secret of that name. */
  findSecret(name: string): Promise<string | null>;
  /** Stores the length of a video that was made here, by the SHA-256 of its bytes. A second call keeps the first length. */
  noteMadeClip(input: { digest: string; seconds: number; now: number }): Promise<void>;
  /** Returns the seconds; null for a video that was not made here. */
  findMadeClip(digest: string): Promise<number | null>;
  /** Deletes up to `limit` of these records, of videos last made before `madeBefore`. Returns how many. */
  sweepMadeClips(input: { madeBefore: number; limit: number }): Promise<number>;
  /** Null if there is no such account. */
  setAccountStatus(input: { id: string; status: AccountStatus; now: number }): Promise<Account | null>;
  createKey(input: NewApiKey): Promise<ApiKey>;
  listKeys(accountId: string): Promise<ApiKey[]>;
  /** Null if there is no such key. Revoking again keeps the first time. */
  revokeKey(input: { id: string; now: number }): Promise<ApiKey | null>;
  /** Finds the key with this SHA-256, revoked or not, and its account. */
  findKey(hash: string): Promise<{ key: ApiKey; account: Account } | null>;

  /**
   * Adds a top-up or adjustment. Refuses a negative amount that exceeds the available balance. The same entry under the
   * same id is posted once. Throws if another entry has the id.
   */
  postEntry(input: NewEntry): Promise<PostEntryOutcome>;
  /** Refunds at most the charge that was not refunded yet. Once for one entry id, as `postEntry`. */
  refundJob(input: NewRefund): Promise<RefundOutcome>;
  /** Recomputes every account's sums from the entries and open holds. Reads only. */
  checkLedger(): Promise<LedgerReport>;

  /**
   * Admits a job in one unit: claims the idempotency key (if given), places the hold, and inserts the job with the
   * status and lease that `job` has. Checks in this order: the idempotency key, the API key and account (`forbidden`),
   * the number of active jobs, the balance. So a replay is answered even if key, account or balance have changed. The
   * idempotency key of a job that `freesItsKey` is free. Rejects, and changes nothing, if one of `inputs` is gone.
   */
  openJob(input: OpenJobInput): Promise<OpenJobOutcome>;
  /** Returns what `openJob` would return because of the idempotency key; null if the key is free. Reads only. */
  findReplay(input: {
    accountId: string;
    endpoint: string;
    key: string;
    bodyHash: string;
    now: number;
  }): Promise<{ outcome: 'replayed'; job: Job } | { outcome: 'conflict' } | null>;
  /** Counts the jobs of the kind that are queued or running in the account. */
  countActiveJobs(input: { accountId: string; kind: JobKind }): Promise<number>;
  /**
   * Claims up to `limit` queued jobs before their deadline: `queued -> running` under a lease. Accounts take turns. The
   * oldest job of an account comes first.
   */
  claimJobs(input: {
    owner: string;
    kind: JobKind;
    limit: number;
    leaseUntil: number;
    now: number;
  }): Promise<Job[]>;
  /**
   * Extends the leases of running jobs held by `owner`. Returns the ids it still holds. An expired lease is held until
   * the job is reaped.
   */
  renewLeases(input: { owner: string; ids: readonly string[]; leaseUntil: number }): Promise<string[]>;
  /** Queues running jobs of `owner` again if they have attempts left. Returns their ids. Any process may claim them. */
  releaseJobs(input: { owner: string; ids: readonly string[] }): Promise<string[]>;
  /**
   * Ends a running job held by `owner` in one unit: terminal state, media rows, capture and ledger entry. Captures
   * `charge`, but never more than the hold, and releases the rest.
   */
  finishJob(input: FinishJobInput): Promise<FinishJobOutcome>;
  /** Stores the progress of a running job. Absent fields stay. False if `owner` does not hold the job. */
  recordProgress(input: {
    id: string;
    owner: string;
    /** 0 to 100. */
    progress?: number;
    providerTask?: string;
  }): Promise<boolean>;
  /**
   * Finds dead jobs, at most `limit` a call. A running job whose lease expired is queued again if it has attempts left
   * and its deadline has not passed. Other such jobs, and queued jobs past their deadline, become `running` under the
   * caller's lease (`doomed`); the caller then ends them as failed. Holds stay.
   */
  reapJobs(input: {
    owner: string;
    leaseUntil: number;
    now: number;
    limit: number;
  }): Promise<{ requeued: Job[]; doomed: Job[] }>;
  /** Null if the account has no such job. */
  getJob(input: { id: string; accountId: string }): Promise<Job | null>;
  /**
   * Calls `listener` when a job may have become claimable, here or (PostgreSQL) in another process. `listener` must not
   * throw. Returns a function that stops the calls.
   */
  onJobQueued(listener: () => void): () => void;

  /** Lists jobs by `createdAt`, then id, both descending, after the position `before`. */
  listJobs(input: {
    accountId: string;
    limit: number;
    before: HistoryPosition | null;
  }): Promise<JobSummary[]>;
  /** Lists entries in the order of `listJobs`, without entries of amount zero. */
  listEntries(input: {
    accountId: string;
    limit: number;
    before: HistoryPosition | null;
  }): Promise<EntryWithModel[]>;
  /** Counts and sums the jobs that the account created from `from` (inclusive) to `to` (exclusive). */
  sumUsage(input: { accountId: string; from: number; to: number }): Promise<UsageSum[]>;
  /** Removes up to `limit` expired idempotency keys. Returns how many. */
  sweepIdempotencyKeys(input: { now: number; limit: number }): Promise<number>;

  /**
   * Writes the row of a medium, without a job, before its bytes are written, so that no bytes can be orphaned.
   * `openJob` (`inputs`) and `finishJob` (`media`) give it its job and expiry. A medium without a job ends at
   * `expiresAt`.
   */
  reserveMedia(input: ReservedMedia): Promise<void>;
  getMedia(id: string): Promise<Media | null>;
  /** Lists the media of a job in the order in which they were attached. */
  listMedia(jobId: string): Promise<Media[]>;
  /** Lists expired media whose bytes have not been removed yet, oldest first. */
  listExpiredMedia(input: { now: number; limit: number }): Promise<Media[]>;
  /** Lets those of the media that no job has expire now. */
  discardMedia(input: { ids: readonly string[]; now: number }): Promise<void>;
  /** Marks media as removed. Rows of jobs stay, for the history; rows without a job are deleted. */
  markMediaRemoved(input: { ids: readonly string[]; now: number }): Promise<void>;

  /**
   * Returns one event of each receiver, which is an account and the host of its URL: the one that has been due for the
   * longest time without a valid lease. Longest due first.
   */
  listDueWebhooks(now: number): Promise<DueWebhook[]>;
  /** Claims those of the events that are still due and without a valid lease, in no order. */
  claimWebhooks(input: {
    owner: string;
    leaseUntil: number;
    ids: readonly string[];
    now: number;
  }): Promise<WebhookEvent[]>;
  /** Logs a delivery attempt and updates the event, by compare-and-set on the lease owner. False if the lease was lost. */
  recordWebhookAttempt(input: WebhookAttemptInput): Promise<boolean>;
  getWebhook(eventId: string): Promise<WebhookEvent | null>;
  /** Newest first. */
  listWebhooks(input: {
    accountId?: string;
    jobId?: string;
    states?: readonly WebhookState[];
    limit: number;
  }): Promise<WebhookEvent[]>;
  /** Oldest first. */
  listWebhookAttempts(eventId: string): Promise<WebhookAttempt[]>;
  /**
   * Makes the event pending and due now, and its count of attempts zero. The log stays. An attempt under way loses its
   * lease. Null if there is no such event.
   */
  redeliverWebhook(input: { eventId: string; now: number }): Promise<WebhookEvent | null>;

  /**
   * Reserves a payment proof by its identity before it is verified. `exists` returns the known payment. A `rejected`
   * one is reserved again, because the reason may be gone. `payment_id_taken`: another proof, which was not refused,
   * has the same buyer's identifier.
   */
  reservePayment(
    input: NewPayment,
  ): Promise<{ outcome: 'reserved' | 'exists' | 'payment_id_taken'; payment: Payment }>;
  /**
   * Moves a payment from one of the states `from` to `to` and sets the fields of `set`, by compare-and-set on the state
   * and, if `owner` is given, on the lease owner. A rejected or failed payment frees its `paymentId`. Null if the
   * compare-and-set fails.
   */
  advancePayment(input: AdvancePaymentInput): Promise<Payment | null>;
  /**
   * Makes the change if `funds` cover this payment and all other open payments from `source` in the same asset.
   * Payments that are a day old do not count, because they can never be settled. Calls for one source run one after
   * another. Null as in `advancePayment`.
   */
  verifyPayment(input: VerifyPaymentInput): Promise<VerifyPaymentOutcome | null>;
  /**
   * Settles a payment without proof from a chain, because a facilitator says so. Null as in `advancePayment`, if
   * another payment has the same transaction, or if the unchecked payments would exceed the limit.
   */
  settleUnchecked(input: SettleUncheckedInput): Promise<Payment | null>;
  getPayment(identity: string): Promise<Payment | null>;
  /** Finds the payment that has the buyer's identifier. */
  findPaymentById(paymentId: string): Promise<Payment | null>;
  /** Finds the payments of a transaction, ordered by identity. Hexadecimal digits of `transaction` must be lower case. */
  findPaymentsByTransaction(input: { transaction: string; limit: number }): Promise<Payment[]>;
  /**
   * Finds the payments whose identity, transaction (as above), or part of the identity after the last colon begins with
   * `prefix`. Returns at most `limit` for each of the three; exact matches are always among them. Ordered by identity.
   */
  findPaymentsByPrefix(input: { prefix: string; limit: number }): Promise<Payment[]>;
  /**
   * Lists payments by `createdAt`, then identity, both descending, after the position `before`. `updatedBefore` limits
   * the time of the last change. `network` is a CAIP-2 name.
   */
  listPayments(input: {
    states?: readonly PaymentState[];
    network?: string;
    updatedBefore?: number;
    before?: PaymentPosition;
    limit: number;
  }): Promise<Payment[]>;
  /**
   * Claims payments that are due for a check, longest due first, and moves their next check to `until`, so that two
   * processes do not check the same payment. `states` limits the states.
   */
  claimPaymentChecks(input: {
    now: number;
    until: number;
    states?: readonly PaymentState[];
    limit: number;
  }): Promise<Payment[]>;
  /**
   * Deletes rejected proofs last changed before `rejectedBefore`, and the answers (not the records) of payments
   * delivered before `deliveredBefore`; at most `limit` of each. Returns how many.
   */
  prunePayments(input: { rejectedBefore: number; deliveredBefore: number; limit: number }): Promise<number>;
  /** Lists payments settled from `from` (inclusive) to `to` (exclusive) by time of settlement, after the row `after`. */
  listSettledPayments(input: {
    from: number;
    to: number;
    after: { settledAt: number; identity: string } | null;
    limit: number;
  }): Promise<Payment[]>;
  /** Sums settlements and refunds: one row per network, asset and UTC day, in this order. */
  sumPayments(input: { from: number; to: number }): Promise<PaymentSum[]>;
  /**
   * Plans a refund to the payer. A fully refunded payment is not served any more, unless that refund fails. Refuses
   * unless all of this holds: the payment is settled (or its outcome is unknown, if accepted); its payer is known and
   * is the one in its identity; it has no other open refund; the amount is not more than what is left after refunds
   * that did not fail. `amount` null refunds all that is left.
   */
  planRefund(input: NewPaymentRefund): Promise<PlanRefundOutcome>;
  /**
   * Changes a refund by compare-and-set on the state; null if that fails. To `sending` it also fails if the payment is
   * no longer settled (nor of unknown outcome, if the plan accepts that).
   */
  advanceRefund(input: AdvanceRefundInput): Promise<PaymentRefund | null>;
  getRefund(id: string): Promise<PaymentRefund | null>;
  /** Lists the refunds of a payment, or all open ones, oldest first. */
  listRefunds(input: { payment: string | null; limit: number }): Promise<PaymentRefund[]>;
  /** Lists all refunds by `createdAt`, then id, both descending, after the position `before`. */
  listNewestRefunds(input: { limit: number; before: HistoryPosition | null }): Promise<PaymentRefund[]>;
  /** Stores that terms were offered at a time, and deletes terms last offered before `forgetBefore`. */
  noteOfferedTerms(input: {
    fingerprint: string;
    terms: string;
    offeredAt: number;
    forgetBefore: number;
  }): Promise<void>;
  /** Lists the terms that were offered at `since` or later. */
  listOfferedTerms(input: { since: number }): Promise<OfferedTerms[]>;
  /** Takes or extends the exclusive lease to send from an account. False if another process has it. */
  takeAccountLease(input: { sender: string; owner: string; until: number; now: number }): Promise<boolean>;
  /** Ends the lease if `owner` still has it. */
  endAccountLease(input: { sender: string; owner: string }): Promise<void>;

  /** Resolves if the store answers a trivial read; throws otherwise. */
  ping(): Promise<void>;
  /** Resolves if the store could take a new job; throws otherwise. The embedded store writes to its disk as a test. */
  probe(): Promise<void>;
  /** Waits for running commands and closes. */
  close(): Promise<void>;
}

export type AccountStatus = 'pending' | 'active' | 'suspended';

export interface NewAccount {
  id: string;
  name: string;
  status: AccountStatus;
  /** Default: false. */
  isSandbox?: boolean;
  now: number;
}

export interface Account {
  id: string;
  name: string;
  status: AccountStatus;
  /** Sum of the account's ledger entries. */
  balance: Nano;
  /** Sum of its open holds. Available is `balance - held`. */
  held: Nano;
  /** JSON text of the account's own SKUs, rates and limits; null for the operator's defaults. */
  terms: string | null;
  /** True if its money is sandbox credit, which buys sandbox SKUs only. */
  isSandbox: boolean;
  createdAt: number;
}

export interface WebhookSecrets {
  current: string;
  /** Set during a rotation. */
  previous: { secret: string; until: number } | null;
}

export interface NewApiKey {
  id: string;
  accountId: string;
  /** SHA-256 of the key; the key itself is never stored. */
  hash: string;
  /** First and last characters, for people. */
  display: string;
  label: string;
  now: number;
}

export interface ApiKey {
  id: string;
  accountId: string;
  display: string;
  label: string;
  createdAt: number;
  revokedAt: number | null;
}

export type EntryType = 'topup' | 'debit' | 'refund' | 'adjustment';

export interface LedgerEntry {
  id: string;
  accountId: string;
  type: EntryType;
  /** Signed: credits positive, debits negative. */
  amount: Nano;
  jobId: string | null;
  /** The operator's reason; never shown to customers. */
  note: string | null;
  createdAt: number;
}

export interface NewEntry {
  id: string;
  accountId: string;
  type: 'topup' | 'adjustment';
  amount: Nano;
  note: string | null;
  now: number;
}

export type PostEntryOutcome =
  | { outcome: 'posted'; entry: LedgerEntry; available: Nano }
  | { outcome: 'insufficient'; available: Nano }
  | { outcome: 'no_account' };

export interface NewRefund {
  entryId: string;
  jobId: string;
  /** Null refunds all that is left, which must be above zero. */
  amount: Nano | null;
  note: string | null;
  now: number;
}

export type RefundOutcome =
  /** `refunded` is the total of the job's refunds. */
  | { outcome: 'refunded'; entry: LedgerEntry; refunded: Nano; available: Nano }
  /** `refundable` is the largest amount that can still be refunded. */
  | { outcome: 'too_much'; refundable: Nano }
  | { outcome: 'no_job' };

export interface LedgerReport {
  accounts: number;
  entries: number;
  openHolds: number;
  /** One line per fault; empty if the ledger is correct. */
  problems: string[];
}

export type JobKind = 'chat' | 'image' | 'responses' | 'video';
export type JobStatus = 'queued' | 'running' | 'done' | 'failed';

export interface NewJob {
  id: string;
  accountId: string;
  keyId: string;
  kind: JobKind;
  /** Public SKU. */
  model: string;
  /** `running` for a job that the calling process runs at once (then with `leaseOwner`), else `queued`. */
  status: 'queued' | 'running';
  leaseOwner: string | null;
  leaseUntil: number | null;
  /** How often the job may be started in total before it fails. */
  maxAttempts: number;
  /** A job that is still queued at this time fails. */
  deadlineAt: number;
  /**
   * JSON text of the checked request that the runner needs. A text job is never taken over, so it stores only the parts
   * that are shown. Empty after the job's end, because inputs are not kept.
   */
  request: string;
  /** JSON text of the caller's custom_data, or null. */
  customData: string | null;
  /** JSON text of parameters that stay readable after the job's end (a video's duration, ...), or null. Never a prompt. */
  parameters: string | null;
  /** The end of the job is posted to this URL; null for none. */
  webhookUrl: string | null;
}

export interface Job extends Omit<NewJob, 'status'> {
  status: JobStatus;
  /** 0 to 100. */
  progress: number;
  /** JSON text that identifies the upstream's task; null before it starts. */
  providerTask: string | null;
  attempts: number;
  createdAt: number;
  startedAt: number | null;
  finishedAt: number | null;
  /** JSON text of the public result of a done job or failed response: image data array, chat completion, ... */
  result: string | null;
  error: ErrorEnvelope | null;
  /** JSON text of facts for the answer's metadata, such as the provider's kind; never shown as it is. */
  metadata: string | null;
  /** The amount held at admission. */
  hold: Nano;
  holdState: 'open' | 'captured' | 'released';
  charged: Nano;
  refunded: Nano;
}

export interface OpenJobInput {
  job: NewJob;
  /** The worst-case price. */
  hold: Nano;
  idempotency: { endpoint: string; key: string; bodyHash: string; expiresAt: number } | null;
  /** Maximum number of queued and running jobs of this kind in the account, with this one; null for no limit. */
  activeLimit: number | null;
  /** Ids of reserved media that become the job's inputs. They expire with the job's end, or a day after its deadline. */
  inputs: readonly string[];
  now: number;
}

export type OpenJobOutcome =
  | { outcome: 'opened'; job: Job; available: Nano }
  /** The same idempotency key came with the same body before; `job` is the job of that time. */
  | { outcome: 'replayed'; job: Job; available: Nano }
  /** The same idempotency key came with another body before. */
  | { outcome: 'conflict' }
  | { outcome: 'insufficient'; available: Nano }
  | { outcome: 'too_many_active'; active: number }
  /** The key was revoked, or the account is not active. */
  | { outcome: 'forbidden' };

export interface FinishJobInput {
  id: string;
  owner: string;
  status: 'done' | 'failed';
  result: string | null;
  error: ErrorEnvelope | null;
  metadata: string | null;
  charge: Nano;
  /** Id of the debit entry that is written when the charge is above zero. */
  entryId: string;
  /**
   * Reserved or new media; they get this job and expiry. The job's inputs expire now. Rejects, and changes nothing, if
   * a medium belongs to another account or already has a job.
   */
  media: readonly NewMedia[];
  /** The event that announces the end, due at once; null for jobs without a `webhookUrl`. */
  webhook: { eventId: string; body: string } | null;
  now: number;
}

export type FinishJobOutcome =
  | { outcome: 'finished'; job: Job; available: Nano }
  /** The job was not running under this owner; nothing was changed. */
  | { outcome: 'lost'; job: Job | null };

export type MediaRole = 'image' | 'video' | 'last_frame' | 'input';

export interface ReservedMedia {
  /** Unguessable: whoever has a result URL with this id may read the bytes. */
  id: string;
  accountId: string;
  role: MediaRole;
  contentType: string;
  /** The bytes are removed at this time, unless a job takes them. */
  expiresAt: number;
  now: number;
}

export interface NewMedia {
  id: string;
  accountId: string;
  jobId: string;
  role: MediaRole;
  contentType: string;
  sizeBytes: number;
  expiresAt: number;
}

export interface Media extends Omit<NewMedia, 'jobId'> {
  /** Null while the medium is only reserved. `sizeBytes` is 0 then, and for an input always. */
  jobId: string | null;
  createdAt: number;
  removedAt: number | null;
}

/** The position of the last row of a page. */
export interface HistoryPosition {
  createdAt: number;
  id: string;
}

/** A job without its request and result. */
export type JobSummary = Pick<
  Job,
  | 'id'
  | 'accountId'
  | 'model'
  | 'kind'
  | 'status'
  | 'createdAt'
  | 'startedAt'
  | 'finishedAt'
  | 'error'
  | 'holdState'
  | 'charged'
  | 'refunded'
>;

/** A ledger entry with the SKU of its job. */
export interface EntryWithModel extends LedgerEntry {
  model: string | null;
}

/** Sum of the jobs with the same model, kind, status and UTC day of creation. */
export interface UsageSum {
  model: string;
  kind: JobKind;
  status: JobStatus;
  /** Whole days since 1970-01-01 UTC. */
  day: number;
  jobs: number;
  charged: Nano;
  refunded: Nano;
}

/** pending: to be sent. delivered: acknowledged. stopped: the receiver answered 410. exhausted: no attempts left. */
export type WebhookState = 'pending' | 'delivered' | 'stopped' | 'exhausted';

export interface WebhookEvent {
  /** `event_id` of the body and `webhook-id` of every delivery. */
  id: string;
  accountId: string;
  jobId: string;
  url: string;
  /** The exact text that every attempt sends. */
  body: string;
  state: WebhookState;
  /** Count since the event was made or last redelivered. */
  attempts: number;
  /** Null unless the event is pending. */
  nextAttemptAt: number | null;
  createdAt: number;
  updatedAt: number;
}

export type DueWebhook = Pick<WebhookEvent, 'id' | 'accountId' | 'url'>;

export interface WebhookAttempt {
  eventId: string;
  at: number;
  durationMs: number;
  /** Null if no answer came. */
  httpStatus: number | null;
  /** A short reason code such as `timeout` or `http_500`; null if it was acknowledged. */
  failure: string | null;
}

export interface WebhookAttemptInput {
  eventId: string;
  owner: string;
  attempt: Omit<WebhookAttempt, 'eventId'>;
  state: WebhookState;
  /** For `pending` only. */
  nextAttemptAt: number | null;
}

/**
 * The state of an x402 payment. reserved: the proof is claimed, nothing was asked yet. verified: the facilitator
 * accepts it. produced: the result is stored. broadcasting: the settlement may be under way (its hash is stored if
 * known). settled: the chain has it. delivered: the buyer got the answer. rejected: verification refused it. failed:
 * proven not to have happened. unknown: it may have happened; only the chain can tell.
 */
export type PaymentState = (typeof paymentStates)[number];

/** The position of the last payment of a page. */
export type PaymentPosition = Pick<Payment, 'createdAt' | 'identity'>;

export interface NewPayment {
  /** Unique: EVM chain, token, payer and nonce; Solana cluster and message hash. */
  identity: string;
  /** Binds the proof to one request. */
  requestHash: string;
  /** CAIP-2. */
  network: string;
  asset: string;
  payTo: string;
  /** In the asset's smallest unit. */
  amount: bigint;
  /** JSON text of the payload and of the terms it answers, both in x402 v2 form. */
  payload: string;
  requirements: string;
  /** The buyer's own identifier of the payment. Two payments that were not refused cannot have the same one. */
  paymentId: string | null;
  /** The process that works on it. After `leaseUntil` the payment is due for a check. */
  leaseOwner: string;
  leaseUntil: number;
  now: number;
}

export interface Payment {
  identity: string;
  requestHash: string;
  network: string;
  asset: string;
  payTo: string;
  amount: bigint;
  payload: string;
  requirements: string;
  leaseOwner: string | null;
  leaseUntil: number | null;
  state: PaymentState;
  payer: string | null;
  /** The account that pays: a wallet in lower case on EVM, a token account on Solana. */
  source: string | null;
  /** JSON text of the answer that the payment buys. */
  result: string | null;
  /** Transaction hash or signature. A facilitator in this process stores it before the broadcast. */
  transaction: string | null;
  /** The signed transaction, as sent. */
  rawTransaction: string | null;
  /** JSON text of the x402 settle response. */
  receipt: string | null;
  /** A stable reason code for rejected, failed and unknown. */
  reason: string | null;
  /** Address of the facilitator that was asked to settle; null if it is in this process, or none was asked. */
  facilitator: string | null;
  paymentId: string | null;
  /** Time of the next check of its outcome; null for never. */
  checkAt: number | null;
  settledAt: number | null;
  /** True if the whole amount is refunded, or its refund is under way. Nothing is served for it any more. */
  isRefunded: boolean;
  /** True if it was delivered because a facilitator said so, and no node has confirmed it. Stays true if that was false. */
  isUnchecked: boolean;
  createdAt: number;
  updatedAt: number;
}

export interface VerifyPaymentInput {
  /** Applied if the funds cover the payment; it sets `source`. */
  change: AdvancePaymentInput;
  source: string;
  /** A lower bound of the balance of `source`, in the asset's smallest unit. */
  funds: bigint;
}

export type VerifyPaymentOutcome =
  | { outcome: 'verified'; payment: Payment }
  /** Sums of the other open payments: `unsent` are being worked on, `sent` were sent or given up. */
  | { outcome: 'uncovered'; unsent: bigint; sent: bigint };

export interface SettleUncheckedInput {
  /** Applied if no other payment has the transaction and the limit is not exceeded. */
  change: AdvancePaymentInput;
  transaction: string;
  /** Maximum sum of the unchecked payments of one network and asset, in the smallest unit. */
  limit: bigint;
}

export interface AdvancePaymentInput {
  identity: string;
  from: readonly PaymentState[];
  to: PaymentState;
  owner?: string;
  /** Only these fields change; null clears one. */
  set?: Partial<
    Pick<
      Payment,
      | 'payer'
      | 'source'
      | 'result'
      | 'transaction'
      | 'rawTransaction'
      | 'receipt'
      | 'reason'
      | 'leaseOwner'
      | 'leaseUntil'
      | 'facilitator'
      | 'checkAt'
      | 'settledAt'
      | 'isUnchecked'
    >
  >;
  now: number;
}

/** Amounts in the asset's smallest unit. */
export interface PaymentSum {
  /** CAIP-2. */
  network: string;
  asset: string;
  /** UTC day of the settlement or refund, such as `2026-11-21`. */
  day: string;
  payments: number;
  amount: bigint;
  refunds: number;
  refunded: bigint;
}

/**
 * planned: recorded, nothing is signed. sending: the signed transaction is stored. It may be sent, or be on the chain
 * where a fork can still remove it. settled: final on the chain. failed: proven not to have happened.
 */
export type PaymentRefundState = 'planned' | 'sending' | 'settled' | 'failed';

export interface PaymentRefund {
  id: string;
  /** Identity of the payment. */
  payment: string;
  /** CAIP-2. */
  network: string;
  asset: string;
  /** The payer. */
  recipient: string;
  /** In the asset's smallest unit. */
  amount: bigint;
  state: PaymentRefundState;
  /** The sending wallet; null before the transaction is signed. */
  sender: string | null;
  transaction: string | null;
  rawTransaction: string | null;
  /** A stable reason code: why it failed, or why a settled one counts as final although the node names no final blocks. */
  reason: string | null;
  /** The operator's reason. */
  note: string | null;
  /** True if it may be sent while the outcome of its payment is unknown. */
  acceptsUnknown: boolean;
  createdAt: number;
  updatedAt: number;
}

export interface NewPaymentRefund {
  id: string;
  payment: string;
  amount: bigint | null;
  note: string | null;
  /** Also refunds a payment of unknown outcome; for an operator who knows that it was paid. */
  acceptsUnknown: boolean;
  now: number;
}

export type PlanRefundOutcome =
  | { outcome: 'planned'; refund: PaymentRefund }
  /** The id was planned before. */
  | { outcome: 'exists'; refund: PaymentRefund }
  /** `wrong_payer`: the payer is not the signer, who is named in the identity. */
  | { outcome: 'no_payment' | 'not_settled' | 'no_payer' | 'wrong_payer' }
  /** Another refund of the payment must end first. */
  | { outcome: 'open'; refund: PaymentRefund }
  | { outcome: 'too_much'; left: bigint };

export interface AdvanceRefundInput {
  id: string;
  from: readonly PaymentRefundState[];
  to: PaymentRefundState;
  /** Only the named fields change. */
  set?: Partial<Pick<PaymentRefund, 'sender' | 'transaction' | 'rawTransaction' | 'reason'>>;
  now: number;
}

export interface OfferedTerms {
  /** JSON text. */
  terms: string;
  offeredAt: number;
}
