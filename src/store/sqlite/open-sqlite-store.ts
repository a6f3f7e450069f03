import type { CommandInput, CommandName, CommandOutput, ReadName, WriteName } from '../commands.ts';
import { createJobSignal } from '../job-signal.ts';
import type { Store } from '../store.ts';
import { linkOnDemand } from './link-on-demand.ts';
import { openWorkerLink, type WorkerLink, type WorkerLinkOptions } from './worker-link.ts';

export interface SqliteStoreOptions {
  /** Path of the database file. A missing file is created, a missing folder is not. */
  file: string;
  /** A write fails if another process's write to the same file takes longer. */
  busyTimeoutMs?: number;
  /** Maximum number of waiting commands. One more is refused with StoreError `overloaded`. */
  maxWaiting?: number;
  /** A command without an answer in this time is rejected with StoreError `timeout`. */
  commandTimeoutMs?: number;
}

/** A ledger check reads the whole ledger. */
const ledgerCheckTimeoutMs = 600_000;

/**
 * Opens the embedded store: one file, a writing thread, a reading thread, and one for sums, which starts on demand.
 * Rejects with StoreError if the file cannot be opened.
 */
export const openSqliteStore = async ({
  file,
  busyTimeoutMs = 5_000,
  maxWaiting = 10_000,
  commandTimeoutMs = 30_000,
}: SqliteStoreOptions): Promise<Store> => {
  const settings: Omit<WorkerLinkOptions, 'role'> = { file, busyTimeoutMs, maxWaiting, commandTimeoutMs };
  const [writer, reader] = await openBoth(settings);
  // Sums over a long history take long. Their own thread keeps them from delaying other reads.
  const summer = linkOnDemand(() => openWorkerLink({ ...settings, role: 'reader' }));
  const queued = createJobSignal();

  const write = <N extends WriteName>(name: N, input: CommandInput<N>) => call(writer, name, input);
  const read = <N extends ReadName>(name: N, input: CommandInput<N>) => call(reader, name, input);

  return {
    kind: 'sqlite',
    createAccount: (input) => write('createAccount', input),
    getAccount: (id) => read('getAccount', id),
    listAccounts: (input) => read('listAccounts', input),
    setAccountTerms: (input) => write('setAccountTerms', input),
    getOrCreateSecret: (input) => write('getOrCreateSecret', input),
    findSecret: (name) => read('findSecret', name),
    noteMadeClip: (input) => write('noteMadeClip', input),
    findMadeClip: (digest) => read('findMadeClip', digest),
    sweepMadeClips: (input) => write('sweepMadeClips', input),
    ensureWebhookSecret: (input) => write('ensureWebhookSecret', input),
    rotateWebhookSecret: (input) => write('rotateWebhookSecret', input),
    getWebhookSecrets: (accountId) => read('getWebhookSecrets', accountId),
    setAccountStatus: (input) => write('setAccountStatus', input),
    createKey: (input) => write('createKey', input),
    listKeys: (accountId) => read('listKeys', accountId),
    revokeKey: (input) => write('revokeKey', input),
    findKey: (hash) => read('findKey', hash),
    postEntry: (input) => write('postEntry', input),
    refundJob: (input) => write('refundJob', input),
    checkLedger: async () => {
      const checker = await openWorkerLink({
        ...settings,
        role: 'reader',
        commandTimeoutMs: ledgerCheckTimeoutMs,
      });
      try {
        return await call(checker, 'checkLedger', undefined);
      } finally {
        await checker.close();
      }
    },
    openJob: async (input) => {
      const opened = await write('openJob', input);
      if (opened.outcome === 'opened' && opened.job.status === 'queued') queued.emit();
      return opened;
    },
    findReplay: (input) => read('findReplay', input),
    countActiveJobs: (input) => read('countActiveJobs', input),
    claimJobs: (input) => write('claimJobs', input),
    renewLeases: (input) => write('renewLeases', input),
    releaseJobs: (input) => write('releaseJobs', input),
    finishJob: (input) => write('finishJob', input),
    recordProgress: (input) => write('recordProgress', input),
    reapJobs: async (input) => {
      const reaped = await write('reapJobs', input);
      if (reaped.requeued.length > 0) queued.emit();
      return reaped;
    },
    getJob: (input) => read('getJob', input),
    onJobQueued: (listener) => queued.listen(listener),
    listJobs: (input) => read('listJobs', input),
    listEntries: (input) => read('listEntries', input),
    sumUsage: (input) => call(summer, 'sumUsage', input),
    sweepIdempotencyKeys: (input) => write('sweepIdempotencyKeys', input),
    reserveMedia: (input) => write('reserveMedia', input),
    getMedia: (id) => read('getMedia', id),
    listMedia: (jobId) => read('listMedia', jobId),
    listExpiredMedia: (input) => read('listExpiredMedia', input),
    discardMedia: (input) => write('discardMedia', input),
    markMediaRemoved: (input) => write('markMediaRemoved', input),
    listDueWebhooks: (now) => read('listDueWebhooks', now),
    claimWebhooks: (input) => write('claimWebhooks', input),
    recordWebhookAttempt: (input) => write('recordWebhookAttempt', input),
    getWebhook: (eventId) => read('getWebhook', eventId),
    listWebhooks: (input) => read('listWebhooks', input),
    listWebhookAttempts: (eventId) => read('listWebhookAttempts', eventId),
    redeliverWebhook: (input) => write('redeliverWebhook', input),
    reservePayment: (input) => write('reservePayment', input),
    advancePayment: (input) => write('advancePayment', input),
    verifyPayment: (input) => write('verifyPayment', input),
    settleUnchecked: (input) => write('settleUnchecked', input),
    getPayment: (identity) => read('getPayment', identity),
    findPaymentById: (paymentId) => read('findPaymentById', paymentId),
    findPaymentsByTransaction: (input) => read('findPaymentsByTransaction', input),
    findPaymentsByPrefix: (input) => read('findPaymentsByPrefix', input),
    listPayments: (input) => read('listPayments', input),
    claimPaymentChecks: (input) => write('claimPaymentChecks', input),
    prunePayments: (input) => write('prunePayments', input),
    listSettledPayments: (input) => call(summer, 'listSettledPayments', input),
    sumPayments: (input) => call(summer, 'sumPayments', input),
    planRefund: (input) => write('planRefund', input),
    advanceRefund: (input) => write('advanceRefund', input),
    getRefund: (id) => read('getRefund', id),
    listRefunds: (input) => read('listRefunds', input),
    listNewestRefunds: (input) => read('listNewestRefunds', input),
    noteOfferedTerms: (input) => write('noteOfferedTerms', input),
    listOfferedTerms: (input) => read('listOfferedTerms', input),
    takeAccountLease: (input) => write('takeAccountLease', input),
    endAccountLease: (input) => write('endAccountLease', input),
    ping: async () => {
      await Promise.all([writer.call('ping', undefined), reader.call('ping', undefined)]);
    },
    probe: async () => {
      await Promise.all([writer.call('probe', undefined), reader.call('ping', undefined)]);
    },
    close: async () => {
      await Promise.all([reader.close(), writer.close(), summer.close()]);
    },
  };
};

/** Opens both workers; the faster one creates the schema. If one fails, closes the other. */
const openBoth = async (
  settings: Omit<WorkerLinkOptions, 'role'>,
): Promise<[writer: WorkerLink, reader: WorkerLink]> => {
  const opening = [
    openWorkerLink({ ...settings, role: 'writer' }),
    openWorkerLink({ ...settings, role: 'reader' }),
  ] as const;
  try {
    return await Promise.all(opening);
  } catch (error) {
    for (const settled of await Promise.allSettled(opening))
      if (settled.status === 'fulfilled') await settled.value.close();
    throw error;
  }
};

const call = <N extends CommandName>(
  link: WorkerLink,
  name: N,
  input: CommandInput<N>,
): Promise<CommandOutput<N>> =>
  // The worker's maps of commands are typed by the same names.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  link.call(name, input) as Promise<CommandOutput<N>>;
