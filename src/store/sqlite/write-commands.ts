import type { DatabaseSync } from 'node:sqlite';
import type { CommandInput, CommandOutput, WriteName } from '../commands.ts';
import { createAccount, createKey, revokeKey, setAccountStatus } from '../statements/accounts.ts';
import { renewLeases } from '../statements/jobs.ts';
import { advancePayment } from '../statements/payments.ts';
import { finishJobCommand } from './finish-job.ts';
import { claimJobsCommand, reapJobsCommand } from './job-queue.ts';
import { postEntryCommand, refundJobCommand } from './ledger-commands.ts';
import { openJobCommand } from './open-job.ts';
import { prepare } from './prepare.ts';
import { reservePaymentCommand } from './reserve-payment.ts';

export type WriteCommands = { [N in WriteName]: (input: CommandInput<N>) => CommandOutput<N> };

/** The writes, each to be run inside a transaction that the caller opened. */
export const writeCommands = (database: DatabaseSync): WriteCommands => ({
  createAccount: prepare(database, createAccount),
  setAccountStatus: prepare(database, setAccountStatus),
  createKey: prepare(database, createKey),
  revokeKey: prepare(database, revokeKey),
  postEntry: postEntryCommand(database),
  refundJob: refundJobCommand(database),
  openJob: openJobCommand(database),
  claimJobs: claimJobsCommand(database),
  renewLeases: prepare(database, renewLeases),
  finishJob: finishJobCommand(database),
  reapJobs: reapJobsCommand(database),
  reservePayment: reservePaymentCommand(database),
  advancePayment: prepare(database, advancePayment),
});
