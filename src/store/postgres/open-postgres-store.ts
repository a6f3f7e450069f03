import { randomUUID } from 'node:crypto';
import { Pool as PgPool } from 'pg';
import { createJobSignal } from '../job-signal.ts';
import { silentLog, type Log } from '../../kit/log.ts';
import { StoreError } from '../store-error.ts';
import {
  createAccount,
  createKey,
  findKey,
  getAccount,
  listAccounts,
  listKeys,
  revokeKey,
  setAccountStatus,
  setAccountTerms,
} from '../statements/accounts.ts';
import { findPaymentsByPrefix, findPaymentsByTransaction } from '../statements/find-payments.ts';
import { listEntries, listJobs, sumUsage } from '../statements/history.ts';
import { findReplay, sweepIdempotencyKeys } from '../statements/idempotency.ts';
import { countActive, getJob, recordProgress, releaseJobs, renewLeases } from '../statements/jobs.ts';
import { listPaymentsBy, paymentLists } from '../statements/list-payments.ts';
import { listWebhooksBy, webhookLists } from '../statements/list-webhooks.ts';
import { discardMedia, getMedia, listExpiredMedia, listMedia, reserveMedia } from '../statements/media.ts';
import {
  getRefund,
  listNewestRefunds,
  listOpenRefunds,
  listRefundsOf,
} from '../statements/payment-refunds.ts';
import { listSettledPayments, sumPayments } from '../statements/payment-sums.ts';
import {
  claimPaymentChecks,
  endAccountLease,
  listOfferedTerms,
  takeAccountLease,
} from '../statements/payment-upkeep.ts';
import { advancePayment, findPaymentById, getPayment } from '../statements/payments.ts';
import type { Statement } from '../statements/statement.ts';
import { findMadeClip, noteMadeClip, sweepMadeClips } from '../statements/made-clips.ts';
import { findSecret, getOrCreateSecret } from '../statements/secrets.ts';
import {
  ensureWebhookSecret,
  getWebhookSecrets,
  rotateWebhookSecret,
} from '../statements/webhook-secrets.ts';
import {
  claimWebhooks,
  getWebhook,
  listDueWebhooks,
  listWebhookAttempts,
  redeliverWebhook,
} from '../statements/webhooks.ts';
import type { Store } from '../store.ts';
import { createCommandGate } from './command-gate.ts';
import { clientConfig, type ConnectionOptions, type Pool } from './connection.ts';
import { finishJobCommand } from './finish-job.ts';
import { listenForJobs } from './job-listener.ts';
import { claimJobsCommand, reapJobsCommand } from './job-queue.ts';
import { checkLedger, postEntryCommand, refundJobCommand } from './ledger-commands.ts';
import { markMediaRemovedCommand } from './media-commands.ts';
import { migrateSchema } from './migrate-schema.ts';
import { openJobCommand, type JobAnnouncement } from './open-job.ts';
import {
  advanceRefundCommand,
  noteOfferedTermsCommand,
  planRefundCommand,
  prunePaymentsCommand,
  reservePaymentCommand,
  settleUncheckedCommand,
  verifyPaymentCommand,
} from './payment-commands.ts';
import { recordWebhookAttemptCommand } from './record-webhook-attempt.ts';
import { answered, prepare, sqlOn } from './sql.ts';

export interface PostgresStoreOptions {
  /** `postgres://` URL. */
  url: string;
  /** The schema of the tables; created if missing. Lower-case letters, digits and underscores. */
  schema?: string;
  /** Maximum number of connections; listening for jobs needs one more. */
  poolSize?: number;
  /** Time limit for getting a connection. */
  connectTimeoutMs?: number;
  statementTimeoutMs?: number;
  /** Maximum number of waiting commands. One more is refused with StoreError `overloaded`. */
  maxWaiting?: number;
  log?: Log;
}

/** For migrations and the ledger check, which read whole tables. */
const longStatementTimeoutMs = 600_000;
const schemaPattern = /^[a-z_][a-z0-9_]{0,39}$/;

/**
 * Opens the distributed store. Any number of processes may use one schema. A pooler in between must pool by session,
 * because of LISTEN and prepared statements. Rejects with StoreError if it cannot be reached or migrated.
 */
export const openPostgresStore = async ({
  url,
  schema = 'public',
  poolSize = 10,
  connectTimeoutMs = 5_000,
  statementTimeoutMs = 10_000,
  maxWaiting = 10_000,
  log = silentLog,
}: PostgresStoreOptions): Promise<Store> => {
  if (!schemaPattern.test(schema)) throw new StoreError('failed', `"${schema}" is not a valid schema name`);
  const connection: ConnectionOptions = { url, schema, connectTimeoutMs, statementTimeoutMs };
  await prepareSchema(connection, log);

  const pool = createPool(connection, { size: poolSize, log });
  const gate = createCommandGate({ maxWaiting });
  const sql = sqlOn(pool);
  const announcement: JobAnnouncement = { channel: `causeway_jobs_${schema}`, sender: randomUUID() };
  const queued = createJobSignal();
  let listener: { stop(): Promise<void> } | null = null;

  const command =
    <Input, Output>(run: (input: Input) => Promise<Output>) =>
    (input: Input): Promise<Output> =>
      gate.run(() => run(input));
  const shared = <Input, Row, Output>(statement: Statement<Input, Row, Output>) => {
    const run = prepare(statement);
    return command((input: Input) => run(sql, input));
  };
  const openJob = openJobCommand(pool, announcement);
  const listRefundsOfPayment = shared(listRefundsOf);
  const listRefundsOpen = shared(listOpenRefunds);
  const reapJobs = reapJobsCommand(pool, announcement);
  const ping = (): Promise<void> =>
    gate.run(async () => {
      await answered(pool.query('select 1'));
    });

  return {
    kind: 'postgres',
    createAccount: shared(createAccount),
    getAccount: shared(getAccount),
    listAccounts: shared(listAccounts),
    setAccountTerms: shared(setAccountTerms),
    getOrCreateSecret: shared(getOrCreateSecret),
    findSecret: shared(findSecret),
    noteMadeClip: shared(noteMadeClip),
    findMadeClip: shared(findMadeClip),
    sweepMadeClips: shared(sweepMadeClips),
    ensureWebhookSecret: shared(ensureWebhookSecret),
    rotateWebhookSecret: shared(rotateWebhookSecret),
    getWebhookSecrets: shared(getWebhookSecrets),
    setAccountStatus: shared(setAccountStatus),
    createKey: shared(createKey),
    listKeys: shared(listKeys),
    revokeKey: shared(revokeKey),
    findKey: shared(findKey),
    postEntry: command(postEntryCommand(pool)),
    refundJob: command(refundJobCommand(pool)),
    checkLedger: () => gate.run(() => withPoolForLongWork(connection, log, checkLedger)),
    openJob: command(async (input) => {
      const opened = await openJob(input);
      if (opened.outcome === 'opened' && opened.job.status === 'queued') queued.emit();
      return opened;
    }),
    findReplay: shared(findReplay),
    countActiveJobs: shared(countActive),
    claimJobs: command(claimJobsCommand(pool)),
    renewLeases: shared(renewLeases),
    releaseJobs: shared(releaseJobs),
    finishJob: command(finishJobCommand(pool)),
    recordProgress: shared(recordProgress),
    reapJobs: command(async (input) => {
      const reaped = await reapJobs(input);
      if (reaped.requeued.length > 0) queued.emit();
      return reaped;
    }),
    getJob: shared(getJob),
    onJobQueued: (onQueued) => {
      listener ??= listenForJobs({
        config: clientConfig(connection),
        announcement,
        log,
        onQueued: () => queued.emit(),
      });
      return queued.listen(onQueued);
    },
    listJobs: shared(listJobs),
    listEntries: shared(listEntries),
    sumUsage: shared(sumUsage),
    sweepIdempotencyKeys: shared(sweepIdempotencyKeys),
    reserveMedia: shared(reserveMedia),
    getMedia: shared(getMedia),
    listMedia: shared(listMedia),
    listExpiredMedia: shared(listExpiredMedia),
    discardMedia: shared(discardMedia),
    markMediaRemoved: command(markMediaRemovedCommand(pool)),
    listDueWebhooks: shared(listDueWebhooks),
    claimWebhooks: shared(claimWebhooks),
    recordWebhookAttempt: command(recordWebhookAttemptCommand(pool)),
    getWebhook: shared(getWebhook),
    listWebhooks: listWebhooksBy({
      ofJob: shared(webhookLists.ofJob),
      ofAccount: shared(webhookLists.ofAccount),
      ofStates: shared(webhookLists.ofStates),
      all: shared(webhookLists.all),
    }),
    listWebhookAttempts: shared(listWebhookAttempts),
    redeliverWebhook: shared(redeliverWebhook),
    reservePayment: command(reservePaymentCommand(pool)),
    advancePayment: shared(advancePayment),
    verifyPayment: command(verifyPaymentCommand(pool)),
    settleUnchecked: command(settleUncheckedCommand(pool)),
    getPayment: shared(getPayment),
    findPaymentById: shared(findPaymentById),
    findPaymentsByTransaction: shared(findPaymentsByTransaction),
    findPaymentsByPrefix: shared(findPaymentsByPrefix),
    listPayments: listPaymentsBy({
      all: shared(paymentLists.all),
      inStates: shared(paymentLists.inStates),
      ofNetwork: shared(paymentLists.ofNetwork),
    }),
    claimPaymentChecks: shared(claimPaymentChecks),
    prunePayments: command(prunePaymentsCommand(pool)),
    listSettledPayments: shared(listSettledPayments),
    sumPayments: shared(sumPayments),
    planRefund: command(planRefundCommand(pool)),
    advanceRefund: command(advanceRefundCommand(pool)),
    getRefund: shared(getRefund),
    listRefunds: ({ payment, limit }) =>
      payment === null ? listRefundsOpen({ limit }) : listRefundsOfPayment({ payment, limit }),
    listNewestRefunds: shared(listNewestRefunds),
    noteOfferedTerms: command(noteOfferedTermsCommand(pool)),
    listOfferedTerms: shared(listOfferedTerms),
    takeAccountLease: shared(takeAccountLease),
    endAccountLease: shared(endAccountLease),
    ping,
    probe: ping,
    close: async () => {
      await Promise.all([gate.close(), listener?.stop()]);
      if (!pool.ending) await pool.end();
    },
  };
};

const createPool = (connection: ConnectionOptions, { size, log }: { size: number; log: Log }): Pool => {
  const pool = new PgPool({ ...clientConfig(connection), max: size });
  // The pool replaces an idle connection that broke. Without a listener the event would end the process.
  pool.on('error', (error) => log.warn({ err: error }, 'a connection to PostgreSQL broke'));
  // The pool does not listen to a connection in use. Its commands are rejected anyway.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
};

const withPoolForLongWork = async <T>(
  connection: ConnectionOptions,
  log: Log,
  work: (pool: Pool) => Promise<T>,
): Promise<T> => {
  const pool = createPool({ ...connection, statementTimeoutMs: longStatementTimeoutMs }, { size: 1, log });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
};

const prepareSchema = async (connection: ConnectionOptions, log: Log): Promise<void> => {
  try {
    await withPoolForLongWork(connection, log, async (pool) => {
      await migrateSchema(pool, connection.schema);
      await warnWhenCommitsCanBeLost(pool, log);
    });
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new StoreError('failed', `PostgreSQL could not be opened: ${message}`, { cause });
  }
};

/** Warns about server settings with which an acknowledged write may not be on disk. */
const warnWhenCommitsCanBeLost = async (pool: Pool, log: Log): Promise<void> => {
  const { rows }: { rows: { name: string }[] } = await pool.query(
    `select name from pg_settings where name in ('fsync', 'synchronous_commit') and setting = 'off'`,
  );
  for (const { name } of rows)
    log.warn(
      `PostgreSQL runs with ${name} = off: a crash of the server can lose money that was acknowledged`,
    );
};
