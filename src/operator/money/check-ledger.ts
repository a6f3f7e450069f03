import { z } from 'zod';
import { formatUsd } from '../../kit/money.ts';
import { count, usd } from '../../operations/answer-fields.ts';
import { operatorRead } from '../operator-operation.ts';

export const checkLedger = operatorRead({
  name: 'check_ledger',
  title: 'Check the ledger',
  description:
    'Recomputes every balance and hold from the ledger entries and jobs, and reports differences, and jobs that are done ' +
    'and owed. It changes nothing. ' +
    'It reads the whole ledger, which takes seconds when that is long.',
  group: 'money',
  path: '/ledger/check',
  fields: {},
  output: z.strictObject({
    ok: z.boolean(),
    accounts: count,
    entries: count,
    open_holds: count,
    owed_jobs: count.describe('Jobs that are done, and whose payments were not settled.'),
    owed_usd: usd,
    debts: z.array(z.string()).describe('One line per owed job, the newest first, at most 101.'),
    problems: z.array(z.string()).describe('One line per difference; empty if the books are right.'),
  }),
  answer: 'LedgerReport',
  example: {
    input: {},
    answer: {
      ok: true,
      accounts: 3,
      entries: 218,
      open_holds: 1,
      owed_jobs: 0,
      owed_usd: '0.00',
      debts: [],
      problems: [],
    },
  },
  handle: async (_input, { store }) => {
    const { openHolds, owedJobs, owed, problems, ...report } = await store.checkLedger();
    return {
      ok: problems.length === 0,
      ...report,
      open_holds: openHolds,
      owed_jobs: owedJobs,
      owed_usd: formatUsd(owed),
      problems,
    };
  },
});
