import type { Command } from 'commander';
import type { LedgerReport } from '../../store/store.ts';
import type { Answer, CommandContext } from '../command-context.ts';
import { addExamples } from '../examples.ts';

/** Adds `ledger check`. */
export const addLedgerCommands = (program: Command, context: CommandContext): void => {
  const ledger = program
    .command('ledger')
    .summary('prove that the books are right')
    .description('Proves that the books are right.');
  addExamples(ledger, ['causeway ledger check']);
  const check = ledger
    .command('check')
    .summary('recompute all balances from the entries and open holds')
    .description(
      'Recomputes every balance and hold from the ledger entries and jobs, and names what does not agree. Changes ' +
        'nothing; the gateway may run meanwhile. Exit code 1 when something was found.',
    )
    .action(() => context.run(async ({ store }) => reportAnswer(await store.checkLedger())));
  addExamples(check, ['causeway ledger check', 'causeway ledger check --json | jq .problems']);
};

const reportAnswer = (report: LedgerReport): Answer => {
  const { accounts, entries, openHolds, problems } = report;
  const isRight = problems.length === 0;
  const looked = `Accounts: ${accounts}. Entries: ${entries}. Open holds: ${openHolds}.`;
  return {
    json: { ok: isRight, accounts, entries, open_holds: openHolds, problems },
    text: isRight
      ? `The books are right. ${looked}`
      : [...problems, `The books are not right. ${looked}`].join('\n'),
    exitCode: isRight ? 0 : 1,
  };
};
