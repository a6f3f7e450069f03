import type { ErrorEnvelope } from '../errors.ts';
import type { Nano } from '../money.ts';

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
   * key comes first: a replay is answered whatever became of key, account and balance since.
   */
  openJob(input: OpenJobInput): Promise<OpenJobOutcome>;
  /** Takes up to `limit` queued jobs before their deadline: `queued -> running` under a lease. Oldest first. */
  claimJobs(input: {
    owner: string;
    kinds: readonly JobKind[];
    limit: number;
    leaseUntil: number;
    now: number;
  }): Promise<Job[]>;
  /**
   * Extends the leases of running jobs held by `owner`; answers the ids it still holds. A lease that ran out is
   * still held until the job is reaped.
   */
  renewLeases(input: {
    owner: string;
    ids: readonly string[];
    leaseUntil: number;
    now: number;
  }): Promise<string[]>;
  /**
   * Ends a running job held by `owner`: terminal state, media rows, capture of `charge` (never more than
   * the hold; the rest is released) and the ledger entry, in one unit. `charge` 0n releases the whole hold.
   */
  finishJob(input: FinishJobInput): Promise<FinishJobOutcome>;
  /**
   * Ends what nobody works on: a running job whose lease ran out goes back to `queued` while it has
   * attempts left and its deadline ahead, else it fails uncharged; a queued job past its deadline fails
   * uncharged. A requeued job keeps its hold. At most `limit` jobs a call.
   */
  reapJobs(input: {
    now: number;
    limit: number;
    error: ErrorEnvelope;
  }): Promise<{ requeued: Job[]; failed: Job[] }>;
  /** A job by id, of `accountId` only. */
  getJob(input: { id: string; accountId: string }): Promise<Job | null>;
  /** Calls `listener` when a job may have become claimable, here or (PostgreSQL) in another process; it must not throw. Returns the way to stop. */
  onJobQueued(listener: () => void): () => void;

  getMedia(id: string): Promise<Media | null>;

  /**
   * Reserves a payment proof by its identity before it is verified. `exists` tells what is known of it;
   * a `rejected` one is taken up again (`reserved`), as its cause may have gone.
   */
  reservePayment(input: NewPayment): Promise<{ outcome: 'reserved' | 'exists'; payment: Payment }>;
  /**
   * Moves a payment from one of `from` to `to` with the fields in `set`, by compare-and-set on the state and,
   * where `owner` is given, on the lease owner. Null when the payment was not in such a state.
   */
  advancePayment(input: AdvancePaymentInput): Promise<Payment | null>;
  getPayment(identity: string): Promise<Payment | null>;
  /** Newest first; `updatedBefore` bounds by last change. */
  listPayments(input: {
    states?: readonly PaymentState[];
    updatedBefore?: number;
    limit: number;
  }): Promise<Payment[]>;

  /** Resolves when the store answers a trivial read; throws otherwise. */
  ping(): Promise<void>;
  /** Waits for running commands and closes. */
  close(): Promise<void>;
}

export type AccountStatus = 'pending' | 'active' | 'suspended';

export interface NewAccount {
  id: string;
  name: string;
  status: AccountStatus;
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
  createdAt: number;
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
  amount: Nano;
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
  /** JSON text: the checked request that the runner works from. Empty once the job ended: inputs are not kept. */
  request: string;
  /** JSON text of the caller's custom_data, or null. */
  customData: string | null;
}

export interface Job extends Omit<NewJob, 'status'> {
  status: JobStatus;
  attempts: number;
  createdAt: number;
  startedAt: number | null;
  finishedAt: number | null;
  /** JSON text of the public result (image data array, chat completion, ...), once done. */
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
  now: number;
}

export type OpenJobOutcome =
  | { outcome: 'opened'; job: Job; available: Nano }
  /** The same idempotency key with the same body: the job it opened then. */
  | { outcome: 'replayed'; job: Job; available: Nano }
  /** The same idempotency key with another body. */
  | { outcome: 'conflict' }
  | { outcome: 'insufficient'; available: Nano }
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
  media: readonly NewMedia[];
  now: number;
}

export type FinishJobOutcome =
  | { outcome: 'finished'; job: Job; available: Nano }
  /** The job was not running under this owner any more; nothing was changed. */
  | { outcome: 'lost'; job: Job | null };

export interface NewMedia {
  /** Unguessable; it is the whole authority to read the bytes. */
  id: string;
  accountId: string;
  jobId: string;
  contentType: string;
  sizeBytes: number;
  expiresAt: number;
}

export interface Media extends NewMedia {
  createdAt: number;
}

/**
 * The way of an x402 payment. reserved: proof claimed, nothing asked yet. verified: the facilitator calls
 * it good. produced: the result is stored. broadcasting: the settlement may be under way (hash stored where
 * known). settled: the chain has it. delivered: the buyer was answered. rejected: verify refused it, nothing
 * was owed. failed: proven not to have happened. unknown: may have happened; the chain must be asked.
 */
export type PaymentState =
  | 'reserved'
  | 'verified'
  | 'produced'
  | 'broadcasting'
  | 'settled'
  | 'delivered'
  | 'rejected'
  | 'failed'
  | 'unknown';

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
  /** Who works on it, and until when that is to be believed. */
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
  createdAt: number;
  updatedAt: number;
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
      | 'result'
      | 'transaction'
      | 'rawTransaction'
      | 'receipt'
      | 'reason'
      | 'leaseOwner'
      | 'leaseUntil'
    >
  >;
  now: number;
}
