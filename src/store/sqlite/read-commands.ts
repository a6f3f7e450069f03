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
import { getJob, getMedia } from '../statements/jobs.ts';
import { getPayment, listAllPayments, listPaymentsInStates } from '../statements/payments.ts';
import type { LedgerReport } from '../store.ts';
import { prepare, prepareSql } from './prepare.ts';

export type ReadCommands = { [N in ReadName]: (input: CommandInput<N>) => CommandOutput<N> };

/** The reads; each sees one snapshot of what is committed. */
export const readCommands = (database: DatabaseSync): ReadCommands => ({
  getAccount: prepare(database, getAccount),
  listAccounts: prepare(database, listAccounts),
  listKeys: prepare(database, listKeys),
  findKey: prepare(database, findKey),
  checkLedger: () => checkLedger(database),
  getJob: prepare(database, getJob),
  getMedia: prepare(database, getMedia),
  getPayment: prepare(database, getPayment),
  listPayments: listPayments(database),
});

const listPayments = (database: DatabaseSync): ReadCommands['listPayments'] => {
  const all = prepare(database, listAllPayments);
  const inStates = prepare(database, listPaymentsInStates);
  return ({ states, ...input }) => (states === undefined ? all(input) : inStates({ ...input, states }));
};

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
