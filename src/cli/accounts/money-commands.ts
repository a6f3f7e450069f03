import { Argument, Option } from 'commander';
import type { Nano } from '../../kit/money.ts';
import { adjustAccount } from '../../operator/money/adjust-account.ts';
import { checkLedger } from '../../operator/money/check-ledger.ts';
import { creditAccount } from '../../operator/money/credit-account.ts';
import type { PostedEntry } from '../../operator/money/posted-entry.ts';
import { refundJob } from '../../operator/money/refund-job.ts';
import type { Answer } from '../command-context.ts';
import { accountArgument, type CommandDefinition, type CommandGroup } from '../command-definition.ts';
import { exampleAccount, exampleId } from '../examples.ts';
import { postOnce, type EntryOptions } from './post-once.ts';
import { readAmount, readSignedAmount, readText, readUuid } from '../read-arguments.ts';

const entryOptions = [
  new Option('--reason <text>', 'the reason, for the books; customers never see it (required)')
    .argParser(readText(500))
    .makeOptionMandatory(),
  new Option(
    '--entry-id <uuid>',
    'your own id of the ledger entry: safe to repeat, as one id posts once (default: a new one)',
  ).argParser(readUuid),
];

const postedAnswer = (posted: PostedEntry): Answer => ({
  json: posted,
  text: `Posted ${posted.entry.amount_usd} USD (${posted.entry.type}). Balance: ${posted.balance_usd} USD.`,
});

const addTopUp: CommandDefinition<[string, Nano, EntryOptions]> = {
  name: 'credit',
  summary: 'add a top-up to an account',
  description: 'Adds money that a customer has paid to the balance of an account.',
  examples: [
    `causeway credit ${exampleAccount} 25 --reason "Invoice 2041"`,
    `causeway credit ${exampleAccount} 25 --reason "Invoice 2041" --entry-id ${exampleId}`,
  ],
  arguments: [
    accountArgument,
    new Argument('<amount>', 'US dollars, such as 25 or 12.50').argParser(readAmount),
  ],
  options: entryOptions,
  run: async ({ operate }, accountId, amount, options) =>
    postedAnswer(
      await postOnce(amount, options, (entry) => operate(creditAccount, { account_id: accountId, ...entry })),
    ),
};

const correct: CommandDefinition<[string, Nano, EntryOptions]> = {
  name: 'adjust',
  summary: 'correct the balance of an account, up or down',
  description:
    'Corrects the balance of an account by an amount with a sign. At most the available balance can be taken.',
  examples: [
    `causeway adjust ${exampleAccount} -5.00 --reason "Credited twice on 3 March"`,
    `causeway adjust ${exampleAccount} 5.00 --reason "Goodwill"`,
  ],
  arguments: [
    accountArgument,
    new Argument('<amount>', 'US dollars with a sign, such as -5.00 or 5.00').argParser(readSignedAmount),
  ],
  options: entryOptions,
  run: async ({ operate }, accountId, amount, options) =>
    postedAnswer(
      await postOnce(amount, options, (entry) => operate(adjustAccount, { account_id: accountId, ...entry })),
    ),
};

const refundCharge: CommandDefinition<[string, Nano, EntryOptions]> = {
  name: 'refund',
  summary: 'refund the charge of a job, whole or in part',
  description: 'Refunds the charge of a job, whole or in part, at most its charge less earlier refunds.',
  examples: [`causeway refund ${exampleId} 0.04 --reason "Picture was unusable"`],
  arguments: [
    new Argument('<job>', 'id of the job; a chatcmpl- or resp_ id is accepted too'),
    new Argument('<amount>', 'US dollars, such as 0.04').argParser(readAmount),
  ],
  options: entryOptions,
  run: async ({ operate }, jobId, amount, options) => {
    const refunded = await postOnce(amount, options, (posted) =>
      operate(refundJob, { job_id: jobId, ...posted }),
    );
    const { entry, refunded_usd: inAll, balance_usd: balance } = refunded;
    return {
      json: refunded,
      text:
        `Refunded ${entry.amount_usd} USD to account ${entry.account_id} ` +
        `(${inAll} USD of this job in all). Balance: ${balance} USD.`,
    };
  },
};

const check: CommandDefinition<[]> = {
  name: 'check',
  summary: 'recompute all balances from the entries and open holds',
  description:
    'Recomputes every balance and hold from the ledger entries and jobs, and reports differences. It lists the jobs that ' +
    'are done and owed, because their payments were not settled, too. It changes nothing; the gateway may run meanwhile. Exit code 1 if there are differences.',
  examples: ['causeway ledger check', 'causeway ledger check --json | jq .problems'],
  run: async ({ operate }) => {
    const report = await operate(checkLedger, {});
    const { ok: isRight, accounts, entries, open_holds: openHolds, debts, problems } = report;
    const counts =
      `Accounts: ${accounts}. Entries: ${entries}. Open holds: ${openHolds}. ` +
      `Owed jobs: ${report.owed_jobs} (${report.owed_usd} USD).`;
    return {
      json: report,
      text: [...problems, ...debts, `The books are ${isRight ? 'right' : 'not right'}. ${counts}`].join('\n'),
      exitCode: isRight ? 0 : 1,
    };
  },
};

const ledger: CommandGroup = {
  name: 'ledger',
  summary: 'prove that the books are right',
  description: 'Proves that the books are right.',
  commands: [check],
};

/** `credit`, `adjust`, `refund` and `ledger check`. */
export const moneyCommands: CommandGroup['commands'] = [addTopUp, correct, refundCharge, ledger];
