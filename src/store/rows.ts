import type { ErrorEnvelope } from '../kit/errors.ts';
import type {
  Account,
  AccountStatus,
  ApiKey,
  EntryType,
  Job,
  JobKind,
  JobStatus,
  LedgerEntry,
  Media,
  MediaRole,
  Payment,
  PaymentRefund,
  PaymentRefundState,
  PaymentState,
  WebhookEvent,
  WebhookState,
} from './store.ts';

/** A value of both engines. Integers are always read as bigint. */
export type SqlValue = string | number | bigint | null;

export interface AccountRow {
  id: string;
  name: string;
  status: AccountStatus;
  balance: bigint;
  held: bigint;
  terms: string | null;
  sandbox: bigint;
  created_at: bigint;
}

export const accountColumns = 'id, name, status, balance, held, terms, sandbox, created_at';

export const toAccount = (row: AccountRow): Account => ({
  id: row.id,
  name: row.name,
  status: row.status,
  balance: row.balance,
  held: row.held,
  terms: row.terms,
  isSandbox: row.sandbox === 1n,
  createdAt: Number(row.created_at),
});

export interface ApiKeyRow {
  id: string;
  account_id: string;
  display: string;
  label: string;
  created_at: bigint;
  revoked_at: bigint | null;
}

export const apiKeyColumns = 'id, account_id, display, label, created_at, revoked_at';

export const toApiKey = (row: ApiKeyRow): ApiKey => ({
  id: row.id,
  accountId: row.account_id,
  display: row.display,
  label: row.label,
  createdAt: Number(row.created_at),
  revokedAt: toTime(row.revoked_at),
});

export interface EntryRow {
  id: string;
  account_id: string;
  type: EntryType;
  amount: bigint;
  job_id: string | null;
  note: string | null;
  created_at: bigint;
}

export const entryColumns = 'id, account_id, type, amount, job_id, note, created_at';

export const toEntry = (row: EntryRow): LedgerEntry => ({
  id: row.id,
  accountId: row.account_id,
  type: row.type,
  amount: row.amount,
  jobId: row.job_id,
  note: row.note,
  createdAt: Number(row.created_at),
});

/** A job joined with its hold. */
export interface JobRow {
  id: string;
  account_id: string;
  key_id: string;
  kind: JobKind;
  model: string;
  status: JobStatus;
  progress: bigint;
  provider_task: string | null;
  attempts: bigint;
  max_attempts: bigint;
  lease_owner: string | null;
  lease_until: bigint | null;
  deadline_at: bigint;
  created_at: bigint;
  started_at: bigint | null;
  finished_at: bigint | null;
  request: string;
  custom_data: string | null;
  parameters: string | null;
  webhook_url: string | null;
  result: string | null;
  error: string | null;
  metadata: string | null;
  hold: bigint;
  hold_state: Job['holdState'];
  captured: bigint;
  refunded: bigint;
}

/** The columns of `jobs j` and `holds h`. */
export const jobColumns = `j.id, j.account_id, j.key_id, j.kind, j.model, j.status, j.progress, j.provider_task,
  j.attempts, j.max_attempts, j.lease_owner, j.lease_until, j.deadline_at, j.created_at, j.started_at, j.finished_at,
  j.request, j.custom_data, j.parameters, j.webhook_url, j.result, j.error, j.metadata, h.amount as hold, h.state as hold_state, h.captured, h.refunded`;

export const toJob = (row: JobRow): Job => ({
  id: row.id,
  accountId: row.account_id,
  keyId: row.key_id,
  kind: row.kind,
  model: row.model,
  status: row.status,
  progress: Number(row.progress),
  providerTask: row.provider_task,
  attempts: Number(row.attempts),
  maxAttempts: Number(row.max_attempts),
  leaseOwner: row.lease_owner,
  leaseUntil: toTime(row.lease_until),
  deadlineAt: Number(row.deadline_at),
  createdAt: Number(row.created_at),
  startedAt: toTime(row.started_at),
  finishedAt: toTime(row.finished_at),
  request: row.request,
  customData: row.custom_data,
  parameters: row.parameters,
  webhookUrl: row.webhook_url,
  result: row.result,
  error: toError(row.error),
  metadata: row.metadata,
  hold: row.hold,
  holdState: row.hold_state,
  charged: row.captured,
  refunded: row.refunded,
});

export interface MediaRow {
  id: string;
  account_id: string;
  job_id: string | null;
  role: MediaRole;
  content_type: string;
  size_bytes: bigint;
  created_at: bigint;
  expires_at: bigint;
  removed_at: bigint | null;
}

export const mediaColumns =
  'id, account_id, job_id, role, content_type, size_bytes, created_at, expires_at, removed_at';

export const toMedia = (row: MediaRow): Media => ({
  id: row.id,
  accountId: row.account_id,
  jobId: row.job_id,
  role: row.role,
  contentType: row.content_type,
  sizeBytes: Number(row.size_bytes),
  createdAt: Number(row.created_at),
  expiresAt: Number(row.expires_at),
  removedAt: toTime(row.removed_at),
});

export interface WebhookRow {
  id: string;
  account_id: string;
  job_id: string;
  url: string;
  body: string;
  state: WebhookState;
  attempts: bigint;
  next_attempt_at: bigint | null;
  created_at: bigint;
  updated_at: bigint;
}

export const webhookColumns =
  'id, account_id, job_id, url, body, state, attempts, next_attempt_at, created_at, updated_at';

export const toWebhook = (row: WebhookRow): WebhookEvent => ({
  id: row.id,
  accountId: row.account_id,
  jobId: row.job_id,
  url: row.url,
  body: row.body,
  state: row.state,
  attempts: Number(row.attempts),
  nextAttemptAt: toTime(row.next_attempt_at),
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
});

export interface PaymentRow {
  identity: string;
  request_hash: string;
  network: string;
  asset: string;
  pay_to: string;
  amount: bigint;
  payload: string;
  requirements: string;
  lease_owner: string | null;
  lease_until: bigint | null;
  state: PaymentState;
  payer: string | null;
  result: string | null;
  transaction_id: string | null;
  raw_transaction: string | null;
  receipt: string | null;
  reason: string | null;
  facilitator: string | null;
  payment_id: string | null;
  check_at: bigint | null;
  settled_at: bigint | null;
  refunded: bigint;
  unchecked: bigint;
  source: string | null;
  created_at: bigint;
  updated_at: bigint;
}

export const paymentColumns = `identity, request_hash, network, asset, pay_to, amount, payload, requirements,
  lease_owner, lease_until, state, payer, result, transaction_id, raw_transaction, receipt, reason, facilitator,
  payment_id, check_at, settled_at, refunded, unchecked, source, created_at, updated_at`;

export const toPayment = (row: PaymentRow): Payment => ({
  identity: row.identity,
  requestHash: row.request_hash,
  network: row.network,
  asset: row.asset,
  payTo: row.pay_to,
  amount: row.amount,
  payload: row.payload,
  requirements: row.requirements,
  leaseOwner: row.lease_owner,
  leaseUntil: toTime(row.lease_until),
  state: row.state,
  payer: row.payer,
  result: row.result,
  transaction: row.transaction_id,
  rawTransaction: row.raw_transaction,
  receipt: row.receipt,
  reason: row.reason,
  facilitator: row.facilitator,
  paymentId: row.payment_id,
  checkAt: toTime(row.check_at),
  settledAt: toTime(row.settled_at),
  isRefunded: row.refunded !== 0n,
  isUnchecked: row.unchecked !== 0n,
  source: row.source,
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
});

export interface RefundRow {
  id: string;
  payment: string;
  network: string;
  asset: string;
  recipient: string;
  amount: bigint;
  state: PaymentRefundState;
  sender: string | null;
  transaction_id: string | null;
  raw_transaction: string | null;
  reason: string | null;
  note: string | null;
  accepts_unknown: bigint;
  created_at: bigint;
  updated_at: bigint;
}

export const refundColumns = `id, payment, network, asset, recipient, amount, state, sender, transaction_id,
  raw_transaction, reason, note, accepts_unknown, created_at, updated_at`;

export const toRefund = (row: RefundRow): PaymentRefund => ({
  id: row.id,
  payment: row.payment,
  network: row.network,
  asset: row.asset,
  recipient: row.recipient,
  amount: row.amount,
  state: row.state,
  sender: row.sender,
  transaction: row.transaction_id,
  rawTransaction: row.raw_transaction,
  reason: row.reason,
  note: row.note,
  acceptsUnknown: row.accepts_unknown !== 0n,
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
});

export const toError = (text: string | null): ErrorEnvelope | null =>
  text === null ? null : JSON.parse(text);

export const toTime = (value: bigint | null): number | null => (value === null ? null : Number(value));
