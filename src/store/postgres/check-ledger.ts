import type { Pool } from './connection.ts';
import {
  ledgerChecks,
  ledgerCounts,
  ledgerReport,
  problemLines,
  type LedgerCountsRow,
} from '../ledger-check.ts';
import type { SqlValue } from '../rows.ts';
import type { LedgerReport } from '../store.ts';
import { inTransaction } from './sql.ts';

/** All questions see one snapshot, so commands that run meanwhile cannot look like faults. */
export const checkLedger = (pool: Pool): Promise<LedgerReport> =>
  inTransaction(
    pool,
    async (sql) => {
      const counts = await sql.get<LedgerCountsRow>({ name: 'ledger_counts', text: ledgerCounts }, []);
      if (counts === undefined) throw new Error('the ledger could not be counted');
      const problems: string[] = [];
      for (const [index, check] of ledgerChecks.entries()) {
        const query = { name: `ledger_check_${index}`, text: check.text };
        problems.push(...problemLines(check, await sql.all<Record<string, SqlValue>>(query, [])));
      }
      return ledgerReport(counts, problems);
    },
    'snapshot',
  );
