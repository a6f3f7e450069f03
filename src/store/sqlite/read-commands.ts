import type { DatabaseSync } from 'node:sqlite';
import type { CommandInput, CommandOutput, ReadName } from '../commands.ts';
import {
  ledgerChecks,
  ledgerCounts,
  ledgerReport,
  problemLines,
  type LedgerCountsRow,
} from '../ledger-check.ts';
import type { SqlValue } from '../rows.ts';
import { findKey, getAccount, listAccounts, listKeys } from '../statements/accounts.ts';
import { findPaymentsByPrefix, findPaymentsByTransaction } from '../statements/find-payments.ts';
import { listEntries, listJobs, sumUsage } from '../statements/history.ts';
import { findReplay } from '../statements/idempotency.ts';
import { countActive, getJob } from '../statements/jobs.ts';
import { listPaymentsBy, paymentLists } from '../statements/list-payments.ts';
import { listWebhooksBy, webhookLists } from '../statements/list-webhooks.ts';
import { getMedia, listExpiredMedia, listMedia } from '../statements/media.ts';
import {
  getRefund,
  listNewestRefunds,
  listOpenRefunds,
  listRefundsOf,
} from '../statements/payment-refunds.ts';
import { listSettledPayments, sumPayments } from '../statements/payment-sums.ts';
import { listOfferedTerms } from '../statements/payment-upkeep.ts';
import { findMadeClip } from '../statements/made-clips.ts';
import { findPaymentById, getPayment } from '../statements/payments.ts';
import { findSecret } from '../statements/secrets.ts';
import { getWebhookSecrets } from '../statements/webhook-secrets.ts';
import { getWebhook, listDueWebhooks, listWebhookAttempts } from '../statements/webhooks.ts';
import type { LedgerReport } from '../store.ts';
import { prepare, prepareSql } from './prepare.ts';

export type ReadCommands = { [N in ReadName]: (input: CommandInput<N>) => CommandOutput<N> };

/** The reads. Each sees one snapshot of the committed data. */
export const readCommands = (database: DatabaseSync): ReadCommands => ({
  getAccount: prepare(database, getAccount),
  getWebhookSecrets: prepare(database, getWebhookSecrets),
  findSecret: prepare(database, findSecret),
  findMadeClip: prepare(database, findMadeClip),
  listAccounts: prepare(database, listAccounts),
  listKeys: prepare(database, listKeys),
  findKey: prepare(database, findKey),
  checkLedger: () => checkLedger(database),
  getJob: prepare(database, getJob),
  findReplay: prepare(database, findReplay),
  countActiveJobs: prepare(database, countActive),
  listJobs: prepare(database, listJobs),
  listEntries: prepare(database, listEntries),
  sumUsage: prepare(database, sumUsage),
  getMedia: prepare(database, getMedia),
  listMedia: prepare(database, listMedia),
  listExpiredMedia: prepare(database, listExpiredMedia),
  listDueWebhooks: prepare(database, listDueWebhooks),
  getWebhook: prepare(database, getWebhook),
  listWebhooks: listWebhooks(database),
  listWebhookAttempts: prepare(database, listWebhookAttempts),
  getPayment: prepare(database, getPayment),
  findPaymentById: prepare(database, findPaymentById),
  findPaymentsByTransaction: prepare(database, findPaymentsByTransaction),
  findPaymentsByPrefix: prepare(database, findPaymentsByPrefix),
  listPayments: listPayments(database),
  listSettledPayments: prepare(database, listSettledPayments),
  sumPayments: prepare(database, sumPayments),
  getRefund: prepare(database, getRefund),
  listRefunds: listRefunds(database),
  listNewestRefunds: prepare(database, listNewestRefunds),
  listOfferedTerms: prepare(database, listOfferedTerms),
});

const listRefunds = (database: DatabaseSync): ReadCommands['listRefunds'] => {
  const ofPayment = prepare(database, listRefundsOf);
  const open = prepare(database, listOpenRefunds);
  return ({ payment, limit }) => (payment === null ? open({ limit }) : ofPayment({ payment, limit }));
};

const listPayments = (database: DatabaseSync): ReadCommands['listPayments'] =>
  listPaymentsBy({
    all: prepare(database, paymentLists.all),
    inStates: prepare(database, paymentLists.inStates),
    ofNetwork: prepare(database, paymentLists.ofNetwork),
  });

const listWebhooks = (database: DatabaseSync): ReadCommands['listWebhooks'] =>
  listWebhooksBy({
    ofJob: prepare(database, webhookLists.ofJob),
    ofAccount: prepare(database, webhookLists.ofAccount),
    ofStates: prepare(database, webhookLists.ofStates),
    all: prepare(database, webhookLists.all),
  });

const checkLedger = (database: DatabaseSync): LedgerReport => {
  database.exec('begin');
  try {
    const counts = prepareSql<LedgerCountsRow>(database, ledgerCounts).get();
    if (counts === undefined) throw new Error('the ledger could not be counted');
    const problems = ledgerChecks.flatMap((check) =>
      problemLines(check, prepareSql<Record<string, SqlValue>>(database, check.text).all()),
    );
    return ledgerReport(counts, problems);
  } finally {
    database.exec('commit');
  }
};
