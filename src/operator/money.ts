import { z } from 'zod';
import { adjust, credit, refund } from '../accounts/ledger/entries.ts';
import { AppError, type ErrorCode } from '../kit/errors.ts';
import { formatUsd, type Nano } from '../kit/money.ts';
import { usageExample, usageFields, usageOf, usageOutput } from '../operations/account/get-usage.ts';
import { count, timeOf, usdOf } from '../operations/answer-fields.ts';
import { idField, toJobId } from '../operations/id-field.ts';
import type { LedgerEntry, PostEntryOutcome, Store } from '../store/store.ts';
import {
  exampleAccountId,
  accountIdField,
  limitField,
  lineField,
  pageField,
  positiveAmount,
  signedAmount,
  uuidField,
} from './fields.ts';
import { readVerb, writeVerb, type Verb, notFound, requireFound } from './verb.ts';
import { defineView, toPage } from '../operations/view.ts';
import { formatTable } from './format-table.ts';

export const entryView = defineView<LedgerEntry>({
  amount_usd: 'Credits positive, debits negative.',
})({
  id: [z.string(), 'id', '7c1d8f52-94a6-4a0e-8f3b-6f1f8a5e2b90'],
  account_id: [z.string(), 'accountId', exampleAccountId],
  type: [z.enum(['topup', 'debit', 'refund', 'adjustment']), 'type', 'topup'],
  amount_usd: usdOf('amount', '25.00'),
  job_id: [z.string().nullable(), 'jobId', null],
  reason: [z.string().nullable(), 'note', 'Invoice 2041'],
  created_at: timeOf('createdAt', '2026-11-01T08:00:00.000Z'),
});

const { example } = entryView;

/** The fields of every change of a balance, beside its place and amount. */
const entryFields = {
  reason: lineField(500).describe('The reason, for the books; customers never see it.'),
  entry_id: uuidField.describe(
    'A new UUID of your own for the ledger entry. Send the same one when you repeat a call: one id posts once.',
  ),
};

interface Posted {
  entry: LedgerEntry;
  available: Nano;
}

const postedView = defineView<Posted>({ balance_usd: 'What the account can spend now.' })({
  entry: [entryView.schema, ({ entry }) => entryView.show(entry), example],
  balance_usd: usdOf('available', '25.00'),
});

type PostedEntry = typeof postedView.example;

/** Makes the answer of a posted entry. Throws AppError if it was refused. */
const toPosted = (
  posted: PostEntryOutcome,
  { accountId, amount }: { accountId: string; amount: Nano },
): PostedEntry => {
  switch (posted.outcome) {
    case 'no_account':
      throw notFound('account', accountId);
    case 'conflict':
      throw entryConflict();
    case 'insufficient':
      throw new AppError(
        'insufficient_balance',
        `The account has ${formatUsd(posted.available)} USD available; ${formatUsd(-amount)} USD cannot be taken.`,
      );
    case 'posted':
      return postedView.show(posted);
  }
};

const entryConflict = (): AppError =>
  new AppError(
    'idempotency_conflict',
    'entry_id: it was already posted with other contents. Use a new id for a new entry.',
    { param: 'entry_id', headers: { 'x-should-retry': 'false' } },
  );

const entryUsage = '--reason <text> [--entry-id <uuid>]';

interface EntryParts extends Pick<Verb, 'name' | 'title' | 'description'> {
  /** The word of its command and of its path. */
  word: 'credit' | 'adjust';
  amount: typeof positiveAmount;
  example: { amount_usd: string; reason: string };
  exampleAnswer?: Partial<PostedEntry>;
  errors?: readonly ErrorCode[];
  post: typeof credit;
}

const postEntry = ({ word, amount, example: written, errors = [], post, ...parts }: EntryParts) =>
  writeVerb({
    ...parts,
    path: `/accounts/{account_id}/${word}`,
    fields: { account_id: accountIdField, amount_usd: amount, ...entryFields },
    output: postedView.schema,
    answer: 'PostedEntry',
    example: { account_id: exampleAccountId, ...written, entry_id: example.id },
    errors: ['account_not_found', ...errors, 'idempotency_conflict'],
    command: {
      usage: `${word} <account> <amount> ${entryUsage}`,
      show: ({ entry, balance_usd: available }) =>
        `Posted ${entry.amount_usd} USD (${entry.type}). Balance: ${available} USD.`,
    },
    handle: async (input, services) => {
      const { account_id: accountId, amount_usd: amount, reason, entry_id: entryId } = input;
      const wanted = { accountId, amount, reason, entryId };
      return toPosted(await post(services, wanted), wanted);
    },
  });

export const creditAccount = postEntry({
  word: 'credit',
  name: 'credit_account',
  title: 'Add a top-up',
  description: 'Adds money that a customer has paid to the balance of an account.',
  amount: positiveAmount,
  example: { amount_usd: '25.00', reason: 'Invoice 2041' },
  post: credit,
});

const correction = { amount_usd: '-5.00', reason: 'Credited twice' };

export const adjustAccount = postEntry({
  word: 'adjust',
  name: 'adjust_account',
  title: 'Correct a balance',
  description:
    'Corrects the balance of an account by an amount with a sign. At most the available balance can be taken.',
  amount: signedAmount,
  example: correction,
  exampleAnswer: { entry: { ...example, type: 'adjustment', ...correction }, balance_usd: '20.00' },
  errors: ['insufficient_balance'],
  post: adjust,
});

const refunding = {
  job_id: '0d9e8f7a-6b5c-4d3e-9f2a-1b0c9d8e7f6a',
  amount_usd: '0.04',
  reason: 'The picture was unusable',
};

const refundedView = defineView<Posted & { refunded: Nano }>({
  refunded_usd: 'All refunds of this job.',
})({
  entry: postedView.members.entry,
  refunded_usd: usdOf('refunded', '0.04'),
  balance_usd: postedView.members.balance_usd,
});

export const refundJob = writeVerb({
  name: 'refund_job',
  title: 'Refund the charge of a job',
  description: 'Refunds the charge of a job, whole or in part, at most its charge less earlier refunds.',
  path: '/jobs/{job_id}/refund',
  fields: {
    job_id: idField.describe('The id of the job; a chatcmpl- or resp_ id is accepted too.'),
    amount_usd: positiveAmount,
    ...entryFields,
  },
  output: refundedView.schema,
  answer: 'RefundedJob',
  example: { ...refunding, entry_id: example.id },
  exampleAnswer: { entry: { ...example, type: 'refund', ...refunding } },
  errors: ['job_not_found', 'refund_too_large', 'idempotency_conflict'],
  command: {
    usage: `refund <job> <amount> ${entryUsage}`,
    show: ({ entry, refunded_usd: inAll, balance_usd: available }) =>
      `Refunded ${entry.amount_usd} USD to account ${entry.account_id} ` +
      `(${inAll} USD of this job in all). Balance: ${available} USD.`,
  },
  handle: async (input, services) => {
    const { job_id: publicId, amount_usd: amount, reason, entry_id: entryId } = input;
    const jobId = toJobId(publicId);
    const refunded = await refund(services, { jobId, amount, reason, entryId });
    switch (refunded.outcome) {
      case 'no_job':
        throw notFound('job', publicId);
      case 'conflict':
        throw entryConflict();
      case 'too_much':
        throw new AppError(
          'refund_too_large',
          refunded.refundable === 0n
            ? 'Nothing of this job can be refunded: it was not charged, or all of it is refunded.'
            : `At most ${formatUsd(refunded.refundable)} USD of this job can still be refunded, not ${formatUsd(amount)} USD.`,
        );
      case 'refunded':
        return refundedView.show(refunded);
    }
  },
});

const transactionView = defineView<LedgerEntry & { model: string | null }>({
  model: 'The SKU of the job.',
})({ ...entryView.members, model: [z.string().nullable(), 'model', null] });

export const listTransactions = readVerb({
  name: 'list_account_transactions',
  title: 'List the transactions of an account',
  description: 'Top-ups, debits, refunds and adjustments of an account, newest first.',
  path: '/accounts/{account_id}/transactions',
  fields: { account_id: accountIdField, limit: limitField(1_000, 100), after: pageField('transaction') },
  output: z.strictObject({ transactions: z.array(transactionView.schema), has_more: z.boolean() }),
  answer: 'TransactionPage',
  example: { account_id: exampleAccountId, limit: 100 },
  errors: ['account_not_found', 'entry_not_found'],
  command: {
    usage: 'accounts transactions <account> [--limit <count>] [--after <entry>]',
    examples: [`${exampleAccountId} --json | jq '.transactions[].amount_usd'`],
    table: {
      columns: 'id=ENTRY type >amount_usd created_at job_id=JOB model reason',
      none: 'There are no transactions.',
    },
  },
  handle: async ({ account_id: accountId, limit, after }, { store }) => {
    requireFound(await store.getAccount(accountId), 'account', accountId);
    const before = after === undefined ? null : requireFound(await store.getEntry(after), 'entry', after);
    const found = await store.listEntries({ accountId, limit: limit + 1, before });
    return toPage('transactions', found, { limit, show: transactionView.show });
  },
});

const usageColumns = 'model >jobs >charged_usd >refunded_usd >net_spent_usd=NET_USD';

export const getUsage = readVerb({
  name: 'get_account_usage',
  title: 'Sum up the usage of an account',
  description:
    'How many jobs an account created in a time and what they cost, in all and by model, kind and day.',
  path: '/accounts/{account_id}/usage',
  fields: { account_id: accountIdField, ...usageFields },
  output: usageOutput,
  answer: 'Usage',
  example: { account_id: exampleAccountId, ...usageExample.parameters },
  exampleAnswer: usageExample.answer,
  errors: ['account_not_found', 'invalid_range'],
  command: {
    usage: 'accounts usage <account> [--from <time>] [--to <time>]',
    show: (sums) =>
      formatTable(
        usageColumns,
        [...sums.by_model, { ...sums, model: 'all' }].map((row) => ({ ...row, jobs: row.jobs.total })),
      ),
  },
  handle: async ({ account_id: accountId, ...span }, services) => {
    requireFound(await services.store.getAccount(accountId), 'account', accountId);
    return usageOf(span, accountId, services);
  },
});

const ledgerView = defineView<Awaited<ReturnType<Store['checkLedger']>>>({
  owed_jobs: 'Jobs that are done, and whose payments were not settled.',
  debts: 'One line per owed job and per payment by card that is owed, the newest first, at most 101 of each.',
  problems: 'One line per difference; empty if the books are right.',
})({
  ok: [z.boolean(), ({ problems }) => problems.length === 0, true],
  accounts: [count, 'accounts', 3],
  entries: [count, 'entries', 218],
  open_holds: [count, 'openHolds', 1],
  owed_jobs: [count, 'owedJobs', 0],
  owed_usd: usdOf('owed', '0.00'),
  debts: [z.array(z.string()), 'debts', []],
  problems: [z.array(z.string()), 'problems', []],
});

export const checkLedger = readVerb({
  name: 'check_ledger',
  title: 'Check the ledger',
  description:
    'Recomputes every balance and hold from the ledger entries and jobs, and reports differences, jobs that are done and ' +
    'owed, and what is owed of payments by card. It changes nothing. ' +
    'It reads the whole ledger, which takes seconds when that is long.',
  path: '/ledger/check',
  fields: {},
  output: ledgerView.schema,
  answer: 'LedgerReport',
  command: {
    usage: 'ledger check',
    more: 'The gateway may run meanwhile. The exit code is 1 if there are differences.',
    examples: ['--json | jq .problems'],
    show: ({ ok: isRight, debts, problems, ...sums }) => ({
      text: [
        ...problems,
        ...debts,
        `The books are ${isRight ? 'right' : 'not right'}. Accounts: ${sums.accounts}. Entries: ${sums.entries}. ` +
          `Open holds: ${sums.open_holds}. Owed jobs: ${sums.owed_jobs} (${sums.owed_usd} USD).`,
      ].join('\n'),
      exitCode: isRight ? 0 : 1,
    }),
  },
  handle: async (_input, { store }) => ledgerView.show(await store.checkLedger()),
});
