import { Argument, Option } from 'commander';
import { toIso } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { formatUsd, type Nano } from '../../kit/money.ts';
import { adjust, credit, refund } from '../../ledger/entries.ts';
import type { LedgerEntry, LedgerReport, PostEntryOutcome, RefundOutcome } from '../../store/store.ts';
import type { Answer } from '../command-context.ts';
import { accountArgument, type CommandDefinition, type CommandGroup } from '../command-definition.ts';
import { CommandError, notFound } from '../command-error.ts';
import { exampleAccount, exampleId } from '../examples.ts';
import { readAmount, readSignedAmount, readText, readUuid } from '../read-arguments.ts';

interface EntryOptions {
  reason: string;
  entryId?: string;
}

const entryOptions = [
  new Option('--reason <text>', 'the reason, for the books; customers never see it (required)')
    .argParser(readText(500))
    .makeOptionMandatory(),
  new Option(
    '--entry-id <uuid>',
    'your own id of the ledger entry: safe to repeat, as one id posts once',
  ).argParser(readUuid),
];

const entryJson = (entry: LedgerEntry): JsonObject => ({
  id: entry.id,
  account_id: entry.accountId,
  type: entry.type,
  amount_usd: formatUsd(entry.amount),
  job_id: entry.jobId,
  reason: entry.note,
  created_at: toIso(entry.createdAt),
});

const postedAnswer = (
  posted: PostEntryOutcome,
  { accountId, amount }: { accountId: string; amount: Nano },
): Answer => {
  if (posted.outcome === 'no_account') throw notFound('account', accountId);
  const { outcome, available } = posted;
  if (outcome === 'insufficient')
    throw new CommandError(
      'insufficient_balance',
      `The account has ${formatUsd(available)} USD available; ${formatUsd(-amount)} USD cannot be taken.`,
    );
  const { entry } = posted;
  return {
    json: { entry: entryJson(entry), balance_usd: formatUsd(available) },
    text: `Posted ${formatUsd(entry.amount)} USD (${entry.type}). Balance: ${formatUsd(available)} USD.`,
  };
};

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
  run: async (session, accountId, amount, options) =>
    postedAnswer(await credit(session, { accountId, amount, ...options }), { accountId, amount }),
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
  run: async (session, accountId, amount, options) =>
    postedAnswer(await adjust(session, { accountId, amount, ...options }), { accountId, amount }),
};

const refundedAnswer = (refund: Exclude<RefundOutcome, { outcome: 'no_job' }>, amount: Nano): Answer => {
  if (refund.outcome === 'too_much')
    throw new CommandError(
      'refund_too_large',
      refund.refundable === 0n
        ? 'Nothing of this job can be refunded: it was not charged, or all of it is refunded.'
        : `At most ${formatUsd(refund.refundable)} USD of this job can still be refunded, not ${formatUsd(amount)} USD.`,
    );
  const { entry, refunded, available } = refund;
  return {
    json: { entry: entryJson(entry), refunded_usd: formatUsd(refunded), balance_usd: formatUsd(available) },
    text:
      `Refunded ${formatUsd(entry.amount)} USD to account ${entry.accountId} ` +
      `(${formatUsd(refunded)} USD of this job in all). Balance: ${formatUsd(available)} USD.`,
  };
};

const refundJob: CommandDefinition<[string, Nano, EntryOptions]> = {
  name: 'refund',
  summary: 'refund the charge of a job, whole or in part',
  description: 'Refunds the charge of a job, whole or in part, at most its charge less earlier refunds.',
  examples: [`causeway refund ${exampleId} 0.04 --reason "Picture was unusable"`],
  arguments: [
    new Argument('<job>', 'id of the job; a chatcmpl- or resp_ id is accepted too'),
    new Argument('<amount>', 'US dollars, such as 0.04').argParser(readAmount),
  ],
  options: entryOptions,
  run: async (session, publicId, amount, options) => {
    const jobId = publicId.replace(/^(?:chatcmpl-|resp_)/, '').toLowerCase();
    const outcome = await refund(session, { jobId, amount, ...options });
    if (outcome.outcome === 'no_job') throw notFound('job', publicId);
    return refundedAnswer(outcome, amount);
  },
};

const reportAnswer = ({ accounts, entries, openHolds, problems }: LedgerReport): Answer => {
  const isRight = problems.length === 0;
  const counts = `Accounts: ${accounts}. Entries: ${entries}. Open holds: ${openHolds}.`;
  return {
    json: { ok: isRight, accounts, entries, open_holds: openHolds, problems },
    text: [...problems, `The books are ${isRight ? 'right' : 'not right'}. ${counts}`].join('\n'),
    exitCode: isRight ? 0 : 1,
  };
};

const check: CommandDefinition<[]> = {
  name: 'check',
  summary: 'recompute all balances from the entries and open holds',
  description:
    'Recomputes every balance and hold from the ledger entries and jobs, and reports differences. It changes nothing; ' +
    'the gateway may run meanwhile. Exit code 1 if there are differences.',
  examples: ['causeway ledger check', 'causeway ledger check --json | jq .problems'],
  run: async ({ store }) => reportAnswer(await store.checkLedger()),
};

const ledger: CommandGroup = {
  name: 'ledger',
  summary: 'prove that the books are right',
  description: 'Proves that the books are right.',
  commands: [check],
};

/** `credit`, `adjust`, `refund` and `ledger check`. */
export const moneyCommands: CommandGroup['commands'] = [addTopUp, correct, refundJob, ledger];
