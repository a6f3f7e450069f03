import type { Command } from 'commander';
import { adjust, credit, refund } from '../../ledger/entries.ts';
import { formatUsd, type Nano } from '../../kit/money.ts';
import type { PostEntryOutcome, RefundOutcome } from '../../store/store.ts';
import type { Answer, CommandContext } from '../command-context.ts';
import { CommandError } from '../command-error.ts';
import { addExamples, exampleAccount, exampleId } from '../examples.ts';
import { readAmount, readSignedAmount } from '../read-amount.ts';
import { readText, readUuid } from '../read-text.ts';
import { noAccount, noJob } from '../refusals.ts';
import { entryJson } from '../views.ts';

interface EntryOptions {
  reason: string;
  entryId?: string;
}

/** Adds `credit`, `adjust` and `refund`. */
export const addMoneyCommands = (program: Command, context: CommandContext): void => {
  addCredit(program, context);
  addAdjust(program, context);
  addRefund(program, context);
};

const addEntryOptions = (command: Command): Command =>
  command
    .requiredOption('--reason <text>', 'why, for the books; customers never see it (required)', readText(500))
    .option(
      '--entry-id <uuid>',
      'your own id of the ledger entry: safe to repeat, as one id posts once',
      readUuid,
    );

const addCredit = (program: Command, context: CommandContext): void => {
  const command = program
    .command('credit')
    .summary('add a top-up to an account')
    .description('Adds money that a customer has paid to the balance of an account.')
    .argument('<account>', 'id of the account')
    .argument('<amount>', 'US dollars, such as 25 or 12.50', readAmount);
  addEntryOptions(command).action((accountId: string, amount: Nano, options: EntryOptions) =>
    context.run(async (session) =>
      postedAnswer(await credit(session, { accountId, amount, ...options }), { accountId, amount }),
    ),
  );
  addExamples(command, [
    `causeway credit ${exampleAccount} 25 --reason "Invoice 2041"`,
    `causeway credit ${exampleAccount} 25 --reason "Invoice 2041" --entry-id ${exampleId}`,
  ]);
};

const addAdjust = (program: Command, context: CommandContext): void => {
  const command = program
    .command('adjust')
    .summary('correct the balance of an account, up or down')
    .description(
      'Corrects the balance of an account by an amount with a sign. What is not available cannot be taken.',
    )
    .argument('<account>', 'id of the account')
    .argument('<amount>', 'US dollars with a sign, such as -5.00 or 5.00', readSignedAmount);
  addEntryOptions(command).action((accountId: string, amount: Nano, options: EntryOptions) =>
    context.run(async (session) =>
      postedAnswer(await adjust(session, { accountId, amount, ...options }), { accountId, amount }),
    ),
  );
  addExamples(command, [
    `causeway adjust ${exampleAccount} -5.00 --reason "Credited twice on 3 March"`,
    `causeway adjust ${exampleAccount} 5.00 --reason "Goodwill"`,
  ]);
};

const postedAnswer = (
  posted: PostEntryOutcome,
  { accountId, amount }: { accountId: string; amount: Nano },
): Answer => {
  if (posted.outcome === 'no_account') throw noAccount(accountId);
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

const addRefund = (program: Command, context: CommandContext): void => {
  const command = program
    .command('refund')
    .summary('give back some or all of what a job was charged')
    .description(
      'Gives back some or all of what a job was charged, at most what is left of it after earlier refunds.',
    )
    .argument('<job>', 'id of the job; a chatcmpl- or resp_ id is accepted too')
    .argument('<amount>', 'US dollars, such as 0.04', readAmount);
  addEntryOptions(command).action((publicId: string, amount: Nano, options: EntryOptions) =>
    context.run(async (session) => {
      const jobId = publicId.replace(/^(?:chatcmpl-|resp_)/, '').toLowerCase();
      const outcome = await refund(session, { jobId, amount, ...options });
      if (outcome.outcome === 'no_job') throw noJob(publicId);
      return refundedAnswer(outcome, amount);
    }),
  );
  addExamples(command, [`causeway refund ${exampleId} 0.04 --reason "Picture was unusable"`]);
};

const refundedAnswer = (refund: Exclude<RefundOutcome, { outcome: 'no_job' }>, amount: Nano): Answer => {
  if (refund.outcome === 'too_much')
    throw new CommandError(
      'refund_too_large',
      refund.refundable === 0n
        ? 'Nothing of this job can be given back: it was not charged, or all of it is refunded.'
        : `Of this job ${formatUsd(refund.refundable)} USD can still be given back, not ${formatUsd(amount)} USD.`,
    );
  const { entry, refunded, available } = refund;
  return {
    json: { entry: entryJson(entry), refunded_usd: formatUsd(refunded), balance_usd: formatUsd(available) },
    text:
      `Gave back ${formatUsd(entry.amount)} USD to account ${entry.accountId} ` +
      `(${formatUsd(refunded)} USD of this job in all). Balance: ${formatUsd(available)} USD.`,
  };
};
