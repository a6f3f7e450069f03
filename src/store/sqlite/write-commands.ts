import type { DatabaseSync } from 'node:sqlite';
import type { CommandInput, CommandOutput, WriteName } from '../commands.ts';
import {
  createAccount,
  createKey,
  revokeKey,
  setAccountStatus,
  setAccountTerms,
} from '../statements/accounts.ts';
import { sweepIdempotencyKeys } from '../statements/idempotency.ts';
import { recordProgress, releaseJobs, renewLeases } from '../statements/jobs.ts';
import { discardMedia, dropUntaken, noteRemoval, reserveMedia } from '../statements/media.ts';
import { claimPaymentChecks, endAccountLease, takeAccountLease } from '../statements/payment-upkeep.ts';
import { advancePayment } from '../statements/payments.ts';
import { noteMadeClip, sweepMadeClips } from '../statements/made-clips.ts';
import { getOrCreateSecret } from '../statements/secrets.ts';
import { ensureWebhookSecret, rotateWebhookSecret } from '../statements/webhook-secrets.ts';
import { claimWebhooks, logWebhookAttempt, moveWebhook, redeliverWebhook } from '../statements/webhooks.ts';
import { finishJobCommand } from './finish-job.ts';
import { claimJobsCommand, reapJobsCommand } from './job-queue.ts';
import { postEntryCommand, refundJobCommand } from './ledger-commands.ts';
import { openJobCommand } from './open-job.ts';
import {
  advanceRefundCommand,
  noteOfferedTermsCommand,
  planRefundCommand,
  prunePaymentsCommand,
  reservePaymentCommand,
  settleUncheckedCommand,
  verifyPaymentCommand,
} from './payment-commands.ts';
import { prepare } from './prepare.ts';

export type WriteCommands = { [N in WriteName]: (input: CommandInput<N>) => CommandOutput<N> };

/** The writes. The caller runs each inside a transaction. */
export const writeCommands = (database: DatabaseSync): WriteCommands => ({
  createAccount: prepare(database, createAccount),
  setAccountStatus: prepare(database, setAccountStatus),
  setAccountTerms: prepare(database, setAccountTerms),
  getOrCreateSecret: prepare(database, getOrCreateSecret),
  noteMadeClip: prepare(database, noteMadeClip),
  sweepMadeClips: prepare(database, sweepMadeClips),
  ensureWebhookSecret: prepare(database, ensureWebhookSecret),
  rotateWebhookSecret: prepare(database, rotateWebhookSecret),
  createKey: prepare(database, createKey),
  revokeKey: prepare(database, revokeKey),
  postEntry: postEntryCommand(database),
  refundJob: refundJobCommand(database),
  openJob: openJobCommand(database),
  claimJobs: claimJobsCommand(database),
  renewLeases: prepare(database, renewLeases),
  releaseJobs: prepare(database, releaseJobs),
  finishJob: finishJobCommand(database),
  recordProgress: prepare(database, recordProgress),
  reapJobs: reapJobsCommand(database),
  sweepIdempotencyKeys: prepare(database, sweepIdempotencyKeys),
  reserveMedia: prepare(database, reserveMedia),
  discardMedia: prepare(database, discardMedia),
  markMediaRemoved: markMediaRemoved(database),
  claimWebhooks: prepare(database, claimWebhooks),
  recordWebhookAttempt: recordWebhookAttempt(database),
  redeliverWebhook: prepare(database, redeliverWebhook),
  reservePayment: reservePaymentCommand(database),
  advancePayment: prepare(database, advancePayment),
  verifyPayment: verifyPaymentCommand(database),
  settleUnchecked: settleUncheckedCommand(database),
  claimPaymentChecks: prepare(database, claimPaymentChecks),
  prunePayments: prunePaymentsCommand(database),
  planRefund: planRefundCommand(database),
  advanceRefund: advanceRefundCommand(database),
  noteOfferedTerms: noteOfferedTermsCommand(database),
  takeAccountLease: prepare(database, takeAccountLease),
  endAccountLease: prepare(database, endAccountLease),
});

const markMediaRemoved = (database: DatabaseSync): WriteCommands['markMediaRemoved'] => {
  const note = prepare(database, noteRemoval);
  const drop = prepare(database, dropUntaken);
  return (input) => {
    note(input);
    drop(input);
  };
};

const recordWebhookAttempt = (database: DatabaseSync): WriteCommands['recordWebhookAttempt'] => {
  const move = prepare(database, moveWebhook);
  const log = prepare(database, logWebhookAttempt);
  return (input) => {
    const number = move(input);
    if (number === null) return false;
    log({ ...input.attempt, eventId: input.eventId, number });
    return true;
  };
};
