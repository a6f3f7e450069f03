import { z } from 'zod';
import { count } from '../../operations/answer-fields.ts';
import { operatorRead } from '../operator-operation.ts';

export const checkLedger = operatorRead({
  name: 'check_ledger',
  title: 'Check the ledger',
  description:
    'Recomputes every balance and hold from the ledger entries and jobs, and reports differences. It changes nothing. ' +
    'It reads the whole ledger, which takes seconds when that is long.',
  group: 'money',
  path: '/ledger/check',
  fields: {},
  output: z.strictObject({
    ok: z.boolean(),
    accounts: count,
    entries: count,
    open_holds: count,
    problems: z.array(z.string()).describe('One line per difference; empty if the books are right.'),
  }),
  answer: 'LedgerReport',
  example: { input: {}, answer: { ok: true, accounts: 3, entries: 218, open_holds: 1, problems: [] } },
  handle: async (_input, { store }) => {
    const { accounts, entries, openHolds, problems } = await store.checkLedger();
    return { ok: problems.length === 0, accounts, entries, open_holds: openHolds, problems };
  },
});
