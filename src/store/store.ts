import type { ErrorEnvelope } from '../kit/errors.ts';
import type { Nano } from '../kit/money.ts';
import type { paymentStates } from './payment-states.ts';

/**
 * The one interface to durable state, with an adapter for SQLite (embedded) and one for PostgreSQL.
 * Every write is a named command and one atomic unit: when its promise resolves, the change is on disk
 * (fsync'd) whole, or nothing of it is. Times are epoch milliseconds, amounts nano-dollars. Refusals that
 * a caller must expect are values (`outcome`); a thrown error means that the store itself failed, and says
 * nothing about whether the write happened.
 */
export interface Store {
  readonly kind: 'sqlite' | 'postgres';

  createAccount(input: NewAccount): Promise<Account>;
  getAccount(id: string): Promise<Account | null>;
  /** Oldest first, after the account `afterId` when given. */
  listAccounts(input: { limit: number; afterId?: string }): Promise<Account[]>;
  /** Replaces the account's own terms (JSON text, see src/catalog); null: the operator's defaults. Null when there is no such account. */
  setAccountTerms(input: { id: string; terms: string | null }): Promise<Account | null>;
  /** The secrets that sign the account's webhooks; makes `secret` the first one when it has none. Null when there is no such account. */
  ensureWebhookSecret(input: { accountId: string; secret: string }): Promise<WebhookSecrets | null>;
  /** Makes `secret` the current one; the one before signs beside it until `previousUntil`. Null when there is no such account. */
  rotateWebhookSecret(input: {
    accountId: string;
    secret: string;
    previousUntil: number;
  }): Promise<WebhookSecrets | null>;
  /** Null when there is no such account, or it has no secret yet. */
  getWebhookSecrets(accountId: string): Promise<WebhookSecrets | null>;
  /**
   * A secret of the whole deployment, kept for good: makes `value` the secret of that name when there is none, and
   * answers the one that holds, the same for every process.
   */
  getOrCreateSecret(input: { name: string; value: string }): Promise<string>;
  /** The secret of that name; null when there is none. */
  findSecret(name: string): Promise<string | null>;
  /** Keeps for how many seconds a video was made here, by the SHA-256 of its bytes, and when; the first length counts. */
  noteMadeClip(input: { digest: string; seconds: number; now: number }): Promise<void>;
  /** Null for a video that was not made here. */
  findMadeClip(digest: string): Promise<number | null>;
  /** Forgets up to `limit` videos that were last made before `madeBefore`; answers how many. */
  sweepMadeClips(input: { madeBefore: number; limit: number }): Promise<number>;
  /** Null when there is no such account. */
  setAccountStatus(input: { id: string; status: AccountStatus; now: number }): Promise<Account | null>;
  createKey(input: NewApiKey): Promise<ApiKey>;
  listKeys(accountId: string): Promise<ApiKey[]>;
  /** Null when there is no such key; revoking twice keeps the first time. */
  revokeKey(input: { id: string; now: number }): Promise<ApiKey | null>;
  /** The key with this SHA-256, revoked or not, and its account. */
  findKey(hash: string): Promise<{ key: ApiKey; account: Account } | null>;

  /**
   * Adds a top-up or adjustment. A negative amount that the available balance does not cover is refused. The
   * same entry under the same id is posted once and answered again; another one under a used id is an error.
   */
  postEntry(input: NewEntry): Promise<PostEntryOutcome>;
  /** Gives back up to what the job was charged and not yet refunded; once for one entry id, as `postEntry`. */
  refundJob(input: NewRefund): Promise<RefundOutcome>;
  /** Recomputes every account's sums from the entries and open holds. Reads only. */
  checkLedger(): Promise<LedgerReport>;

  /**
   * Admits a job: in one unit, claims the idempotency key (if given), checks that key and account may
   * spend, places the hold and inserts the job with the status and lease that `job` carries. The idempotency
   * key comes first: a replay is answered whatever became of key, account and balance since. The key of a job that
   * `freesItsKey` is free. Then come the key and
   * the account (`forbidden`), the number of active jobs, and the balance. Rejects, and changes nothing, when one of
   * `inputs` is not there any more.
   */
  openJob(input: OpenJobInput): Promise<OpenJobOutcome>;
  /** What `openJob` would say of an idempotency key alone; null when the key is free. Reads only. */
  findReplay(input: {
    accountId: string;
    endpoint: string;
    key: string;
    bodyHash: string;
    now: number;
  }): Promise<{ outcome: 'replayed'; job: Job } | { outcome: 'conflict' } | null>;
  /** How many jobs of the kind are queued or running in the account. */
  countActiveJobs(input: { accountId: string; kind: JobKind }): Promise<number>;
  /**
   * Takes up to `limit` queued jobs before their deadline: `queued -> running` under a lease. Accounts take turns; of
   * one account, the oldest comes first.
   */
  claimJobs(input: {
    owner: string;
    kind: JobKind;
    limit: number;
    leaseUntil: number;
    now: number;
  }): Promise<Job[]>;
  /**
   * Extends the leases of running jobs held by `owner`; answers the ids it still holds. A lease that ran out is
   * still held until the job is reaped.
   */
  renewLeases(input: { owner: string; ids: readonly string[]; leaseUntil: number }): Promise<string[]>;
  /** Queues running jobs of `owner` again that have attempts left, for any process to claim; answers their ids. */
  releaseJobs(input: { owner: string; ids: readonly string[] }): Promise<string[]>;
  /**
   * Ends a running job held by `owner`: terminal state, media rows, capture of `charge` (never more than
   * the hold; the rest is released) and the ledger entry, in one unit. `charge` 0n releases the whole hold.
   */
  finishJob(input: FinishJobInput): Promise<FinishJobOutcome>;
  /**
   * Notes how far a running job held by `owner` is; absent fields stay. False when the job is not held by it.
   */
  recordProgress(input: {
    id: string;
    owner: string;
    /** 0 to 100. */
    progress?: number;
    providerTask?: string;
  }): Promise<boolean>;
  /**
   * Takes up what nobody works on: a running job whose lease ran out goes back to `queued` while it has
   * attempts left and its deadline ahead; any other such job, and a queued job past its deadline, becomes `running`
   * under the caller's lease (`doomed`), for the caller to end it as failed. Holds stay. At most `limit` jobs a call.
   */
  reapJobs(input: {
    owner: string;
    leaseUntil: number;
    now: number;
    limit: number;
  }): Promise<{ requeued: Job[]; doomed: Job[] }>;
  /** A job by id, of `accountId` only. */
  getJob(input: { id: string; accountId: string }): Promise<Job | null>;
  /** Calls `listener` when a job may have become claimable, here or (PostgreSQL) in another process; it must not throw. Returns the way to stop. */
  onJobQueued(listener: () => void): () => void;

  /** Newest first by `createdAt`, then id, both descending; only those below `before`. */
  listJobs(input: {
    accountId: string;
    limit: number;
    before: HistoryPosition | null;
  }): Promise<JobSummary[]>;
  /** In the order of `listJobs`. Entries of amount zero are left out. */
  listEntries(input: {
    accountId: string;
    limit: number;
    before: HistoryPosition | null;
  }): Promise<EntryWithModel[]>;
  /** Counts and sums of the jobs that the account created from `from` (inclusive) to `to` (exclusive). */
  sumUsage(input: { accountId: string; from: number; to: number }): Promise<UsageSum[]>;
  /** Removes up to `limit` idempotency keys whose time is over; answers how many. */
  sweepIdempotencyKeys(input: { now: number; limit: number }): Promise<number>;

  /**
   * Writes the row of a medium before its bytes are written, without a job: from then on nothing can be orphaned.
   * `openJob` (`inputs`) and `finishJob` (`media`) give it its job and its time; until then `expiresAt` ends it.
   */
  reserveMedia(input: ReservedMedia): Promise<void>;
  getMedia(id: string): Promise<Media | null>;
  /** The media of a job in the order in which they were attached. */
  listMedia(jobId: string): Promise<Media[]>;
  /** Media whose time is over and whose bytes have not been removed yet, oldest first. */
  listExpiredMedia(input: { now: number; limit: number }): Promise<Media[]>;
  /** Ends the time of media at once that no job has. */
  discardMedia(input: { ids: readonly string[]; now: number }): Promise<void>;
  /** Notes that the bytes are gone: rows of jobs stay as a trace, rows without a job are deleted. */
  markMediaRemoved(input: { ids: readonly string[]; now: number }): Promise<void>;

  /**
   * Of each receiver, which is an account and the host of its URL, the webhook event that is due longest and under no
   * lease, or whose lease ran out. Longest due first.
   */
  listDueWebhooks(now: number): Promise<DueWebhook[]>;
  /** Takes those of the events under a lease that are still due and under none; in no order. */
  claimWebhooks(input: {
    owner: string;
    leaseUntil: number;
    ids: readonly string[];
    now: number;
  }): Promise<WebhookEvent[]>;
  /** Logs one delivery attempt and moves the event on, by compare-and-set on the lease owner. False when the lease was lost. */
  recordWebhookAttempt(input: WebhookAttemptInput): Promise<boolean>;
  getWebhook(eventId: string): Promise<WebhookEvent | null>;
  /** Newest first. */
  listWebhooks(input: {
    accountId?: string;
    jobId?: string;
    states?: readonly WebhookState[];
    limit: number;
  }): Promise<WebhookEvent[]>;
  /** In the order of their making. */
  listWebhookAttempts(eventId: string): Promise<WebhookAttempt[]>;
  /**
   * Makes the event pending and due now, with a fresh count of attempts; the log stays, and an attempt under way loses
   * its lease. Null when there is no such event.
   */
  redeliverWebhook(input: { eventId: string; now: number }): Promise<WebhookEvent | null>;

  /**
   * Reserves a payment proof by its identity before it is verified. `exists` tells what is known of it;
   * a `rejected` one is taken up again (`reserved`), as its cause may have gone. `payment_id_taken`: another proof
   * that was not refused came with the same identifier of the buyer's.
   */
  reservePayment(
    input: NewPayment,
  ): Promise<{ outcome: 'reserved' | 'exists' | 'payment_id_taken'; payment: Payment }>;
  /**
   * Moves a payment from one of `from` to `to` with the fields in `set`, by compare-and-set on the state and,
   * where `owner` is given, on the lease owner. A rejected or failed one gives its `paymentId` free. Null when the
   * payment was not in such a state.
   */
  advancePayment(input: AdvancePaymentInput): Promise<Payment | null>;
  /**
   * Makes the change if `funds` cover the payment together with all other open ones from `source` in the same asset, but
   * for those that are a day old: they are never settled any more.
   * Calls for one source wait for each other. Null as in `advancePayment`.
   */
  verifyPayment(input: VerifyPaymentInput): Promise<VerifyPaymentOutcome | null>;
  /**
   * Makes the change, which settles a payment by a facilitator's word alone. Null as in `advancePayment`, when another
   * payment has the same transaction, and when the unchecked payments would exceed the limit.
   */
  settleUnchecked(input: SettleUncheckedInput): Promise<Payment | null>;
  getPayment(identity: string): Promise<Payment | null>;
  /** The payment that holds an identifier of the buyer's. */
  findPaymentById(paymentId: string): Promise<Payment | null>;
  /** Those of a transaction, written as it is on its chain, hexadecimal digits in lower case. In the order of their identities. */
  findPaymentsByTransaction(input: { transaction: string; limit: number }): Promise<Payment[]>;
  /**
   * Those whose identity, transaction (as above) or own part of the identity, which is what stands after its last
   * colon, begins with `prefix`. Of each of the three `limit` at most, and among them what is exactly `prefix`. In the
   * order of their identities.
   */
  findPaymentsByPrefix(input: { prefix: string; limit: number }): Promise<Payment[]>;
  /**
   * Newest first by `createdAt`, then identity, both descending; only those below `before`. `updatedBefore` bounds by
   * last change. `network` is a CAIP-2 name.
   */
  listPayments(input: {
    states?: readonly PaymentState[];
    network?: string;
    updatedBefore?: number;
    before?: PaymentPosition;
    limit: number;
  }): Promise<Payment[]>;
  /**
   * Takes payments that are due for a look, longest due first, and puts their next one off to `until`, so that no
   * two processes take the same; only those in `states`, where given.
   */
  claimPaymentChecks(input: {
    now: number;
    until: number;
    states?: readonly PaymentState[];
    limit: number;
  }): Promise<Payment[]>;
  /**
   * Deletes refused proofs that did not change since `rejectedBefore`, and the answers (not the records) of payments
   * delivered before `deliveredBefore`; so many of each at most. Answers how many.
   */
  prunePayments(input: { rejectedBefore: number; deliveredBefore: number; limit: number }): Promise<number>;
  /** Settled ones in the order of their settlement, from `from` up to, not including, `to`; after a row where given. */
  listSettledPayments(input: {
    from: number;
    to: number;
    after: { settledAt: number; identity: string } | null;
    limit: number;
  }): Promise<Payment[]>;
  /** What was settled and refunded, a row for each network, asset and UTC day, in this order. */
  sumPayments(input: { from: number; to: number }): Promise<PaymentSum[]>;
  /**
   * Records that money is to go back to the payer; a payment that is refunded whole is served no more, until such a
   * refund fails. Refused unless the payment is settled (or of unknown outcome, where accepted), its payer is known and
   * is the one that its identity names, no other refund of it is without an end, and refunds that did not fail leave so
   * much of its amount; `amount` null: all that is left.
   */
  planRefund(input: NewPaymentRefund): Promise<PlanRefundOutcome>;
  /**
   * Moves a refund on by compare-and-set on the state. Null when it was not in such a state; to `sending`, also when its
   * payment is not settled any more (nor of unknown outcome, where the plan accepts that).
   */
  advanceRefund(input: AdvanceRefundInput): Promise<PaymentRefund | null>;
  getRefund(id: string): Promise<PaymentRefund | null>;
  /** In the order of their making: those of a payment, or all that have no end yet. */
  listRefunds(input: { payment: string | null; limit: number }): Promise<PaymentRefund[]>;
  /** All of them, newest first by `createdAt`, then id, both descending; only those below `before`. */
  listNewestRefunds(input: { limit: number; before: HistoryPosition | null }): Promise<PaymentRefund[]>;
  /** Remembers that terms were offered at a time, and forgets those last offered before `forgetBefore`. */
  noteOfferedTerms(input: {
    fingerprint: string;
    terms: string;
    offeredAt: number;
    forgetBefore: number;
  }): Promise<void>;
  /** What was offered at `since` or later. */
  listOfferedTerms(input: { since: number }): Promise<OfferedTerms[]>;
  /** Takes or keeps the turn to send from an account, which one process has at a time. False: another one has it. */
  takeSenderTurn(input: { sender: string; owner: string; until: number; now: number }): Promise<boolean>;
  /** Gives the turn up, if it is still the owner's. */
  endSenderTurn(input: { sender: string; owner: string }): Promise<void>;

  /** Resolves when the store answers a trivial read; throws otherwise. */
  ping(): Promise<void>;
  /** Resolves when the store could take a new job; throws otherwise. The embedded store writes to its disk for that. */
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
  /** JSON text of the account's own SKUs, rates and limits; null: the operator's defaults. */
  terms: string | null;
  /** Whether its money is sandbox credit, which buys what the sandbox makes and nothing else. */
  isSandbox: boolean;
  createdAt: number;
}

export interface WebhookSecrets {
  current: string;
  /** Of a rotation under way. */
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
  /** Null: all that is left to give back, which must be something. */
  amount: Nano | null;
  note: string | null;
  now: number;
}

export type RefundOutcome =
  /** `refunded` is all that the job was given back so far. */
  | { outcome: 'refunded'; entry: LedgerEntry; refunded: Nano; available: Nano }
  /** `refundable` is what is left to give back. */
  | { outcome: 'too_much'; refundable: Nano }
  | { outcome: 'no_job' };

export interface LedgerReport {
  accounts: number;
  entries: number;
  openHolds: number;
  /** One clear line a fault; empty when the books are right. */
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
  /** How often the job may be started in all, before it fails. */
  maxAttempts: number;
  /** A queued job still waiting then fails. */
  deadlineAt: number;
  /**
   * JSON text: the checked request that the runner works from; of a text job, which is never taken over, no more than
   * is shown of it. Empty once the job ended: inputs are not kept.
   */
  request: string;
  /** JSON text of the caller's custom_data, or null. */
  customData: string | null;
  /** JSON text of what of the request stays readable after the job's end (a video's duration, ...), or null. Never a prompt. */
  parameters: string | null;
  /** Where the job's end is announced; null: nowhere. */
  webhookUrl: string | null;
}

export interface Job extends Omit<NewJob, 'status'> {
  status: JobStatus;
  /** 0 to 100, as last noted. */
  progress: number;
  /** JSON text by which the upstream's task is found again; null while none was begun. */
  providerTask: string | null;
  attempts: number;
  createdAt: number;
  startedAt: number | null;
  finishedAt: number | null;
  /** JSON text of the public result (image data array, chat completion, response object, ...), once done; a failed response has one too. */
  result: string | null;
  error: ErrorEnvelope | null;
  /** JSON text of facts that go into the answer's metadata, such as the provider's kind; never shown raw. */
  metadata: string | null;
  /** What was held at admission. */
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
  /** How many jobs of this kind may be queued or running in the account, this one included; null: any number. */
  activeLimit: number | null;
  /** Reserved media that become the job's inputs; their time ends with the job, or a day after its deadline. */
  inputs: readonly string[];
  now: number;
}

export type OpenJobOutcome =
  | { outcome: 'opened'; job: Job; available: Nano }
  /** The same idempotency key with the same body: the job it opened then. */
  | { outcome: 'replayed'; job: Job; available: Nano }
  /** The same idempotency key with another body. */
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
   * Reserved or new; they get this job and time. The job's inputs expire now. Rejects, and changes nothing, when one
   * is of another account or has a job already.
   */
  media: readonly NewMedia[];
  /** The event that announces the end, due at once; for jobs with a `webhookUrl`, else null. */
  webhook: { eventId: string; body: string } | null;
  now: number;
}

export type FinishJobOutcome =
  | { outcome: 'finished'; job: Job; available: Nano }
  /** The job was not running under this owner any more; nothing was changed. */
  | { outcome: 'lost'; job: Job | null };

/** What a medium is to its job. */
export type MediaRole = 'image' | 'video' | 'last_frame' | 'input';

export interface ReservedMedia {
  /** Unguessable; where a result URL holds it, it is the whole authority to read the bytes. */
  id: string;
  accountId: string;
  role: MediaRole;
  contentType: string;
  /** When the bytes go, unless a job takes them. */
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
  /** Null while it is only reserved; `sizeBytes` is 0 then, and stays so for an input. */
  jobId: string | null;
  createdAt: number;
  /** When the bytes were removed. */
  removedAt: number | null;
}

/** Where a page of a history ended. */
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

/** Jobs that share model, kind, status and the UTC day of their creation. */
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

/** pending: to be sent. delivered: acknowledged. stopped: the receiver answered 410. exhausted: given up. */
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
  /** Since the event was made or last redelivered. */
  attempts: number;
  /** Null once it is not pending any more. */
  nextAttemptAt: number | null;
  createdAt: number;
  updatedAt: number;
}

export type DueWebhook = Pick<WebhookEvent, 'id' | 'accountId' | 'url'>;

export interface WebhookAttempt {
  eventId: string;
  at: number;
  durationMs: number;
  /** Null when no answer came. */
  httpStatus: number | null;
  /** A short reason code when it was not acknowledged, such as `timeout` or `http_500`. */
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
 * The way of an x402 payment. reserved: proof claimed, nothing asked yet. verified: the facilitator calls
 * it good. produced: the result is stored. broadcasting: the settlement may be under way (hash stored where
 * known). settled: the chain has it. delivered: the buyer was answered. rejected: verify refused it, nothing
 * was owed. failed: proven not to have happened. unknown: may have happened; the chain must be asked.
 */
export type PaymentState = (typeof paymentStates)[number];

/** Where a page of payments ended. */
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
  /** The buyer's own identifier of the payment, which no other unrefused payment may carry. */
  paymentId: string | null;
  /** Who works on it, and until when that is to be believed; then it is due for a look. */
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
  /** The account that the money is taken from: a wallet in lower case on EVM, a token account on Solana. */
  source: string | null;
  /** JSON text of the answer that the payment buys. */
  result: string | null;
  /** Transaction hash or signature, stored before it is broadcast where the facilitator is in process. */
  transaction: string | null;
  /** The signed transaction, as sent. */
  rawTransaction: string | null;
  /** JSON text of the x402 settle response. */
  receipt: string | null;
  /** Why it was rejected, failed or is unknown: a stable reason code. */
  reason: string | null;
  /** Address of the facilitator that was asked to settle; null where it is in this process, or none was. */
  facilitator: string | null;
  paymentId: string | null;
  /** When somebody should look what became of it; null: never. */
  checkAt: number | null;
  settledAt: number | null;
  /** Whether all of it was given back, or is on its way there: nothing is served for it any more. */
  isRefunded: boolean;
  /** Delivered on a facilitator's word that no node has confirmed so far; stays so where the word was false. */
  isUnchecked: boolean;
  createdAt: number;
  updatedAt: number;
}

export interface VerifyPaymentInput {
  /** Made if the funds cover the payment; it sets `source`. */
  change: AdvancePaymentInput;
  source: string;
  /** What `source` holds at least, in the asset's smallest unit. */
  funds: bigint;
}

export type VerifyPaymentOutcome =
  | { outcome: 'verified'; payment: Payment }
  /** The sums of the other open payments: `unsent` of those that a process is working on, `sent` of those that were sent or given up. */
  | { outcome: 'uncovered'; unsent: bigint; sent: bigint };

export interface SettleUncheckedInput {
  /** Made if the transaction is of no other payment and the limit is kept. */
  change: AdvancePaymentInput;
  transaction: string;
  /** What the unchecked payments of one network and asset may come to, in the smallest unit. */
  limit: bigint;
}

export interface AdvancePaymentInput {
  identity: string;
  from: readonly PaymentState[];
  to: PaymentState;
  owner?: string;
  /** Only the named fields change; null clears. */
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
  /** Of the settlement or refund, as `2026-11-21` in UTC. */
  day: string;
  payments: number;
  amount: bigint;
  refunds: number;
  refunded: bigint;
}

/**
 * planned: recorded, nothing signed. sending: the signed transaction is stored, and may be out, or have landed where a
 * fork can still take it back. settled: the chain has it for good. failed: proven not to have happened.
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
  /** The wallet that it is sent from; null before it is signed. */
  sender: string | null;
  transaction: string | null;
  rawTransaction: string | null;
  /** Why it failed, or by what a settled one counts as final where a node names no final blocks: a stable reason code. */
  reason: string | null;
  /** The operator's words. */
  note: string | null;
  /** Whether it is sent while the outcome of its payment is unknown. */
  acceptsUnknown: boolean;
  createdAt: number;
  updatedAt: number;
}

export interface NewPaymentRefund {
  id: string;
  payment: string;
  amount: bigint | null;
  note: string | null;
  /** Refunds a payment of unknown outcome too, of which the operator knows more than the gateway. */
  acceptsUnknown: boolean;
  now: number;
}

export type PlanRefundOutcome =
  | { outcome: 'planned'; refund: PaymentRefund }
  /** The same id, planned before. */
  | { outcome: 'exists'; refund: PaymentRefund }
  /** `wrong_payer`: its payer is not the one that its identity names, who signed for it. */
  | { outcome: 'no_payment' | 'not_settled' | 'no_payer' | 'wrong_payer' }
  /** Another refund of the payment, which comes to its end first. */
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
