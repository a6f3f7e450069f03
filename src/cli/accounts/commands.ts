import { Option } from 'commander';
import { approveAccount, suspendAccount, type StatusChange } from '../../operator/accounts/change-status.ts';
import { createAccount } from '../../operator/accounts/create-account.ts';
import { getAccount } from '../../operator/accounts/get-account.ts';
import { listAccounts } from '../../operator/accounts/list-accounts.ts';
import { listTransactions } from '../../operator/money/list-transactions.ts';
import { getUsage } from '../../operator/money/get-usage.ts';
import {
  accountArgument,
  limitOption,
  type CommandDefinition,
  type CommandGroup,
} from '../command-definition.ts';
import type { Answer } from '../command-context.ts';
import { exampleAccount } from '../examples.ts';
import { formatTable } from '../format-table.ts';
import { readText } from '../read-arguments.ts';
import { termsCommands } from './terms-commands.ts';

const columns = {
  ACCOUNT: 'id',
  STATUS: 'status',
  SANDBOX: 'sandbox',
  'BALANCE USD': { right: 'balance_usd' },
  'HELD USD': { right: 'held_usd' },
  CREATED: 'created_at',
  NAME: 'name',
};

const create: CommandDefinition<[{ name: string; approved?: true; sandbox?: true }]> = {
  name: 'create',
  summary: 'create an account',
  description:
    'Creates an account without money. It is pending, and keys can be issued once it is approved; with --approved it ' +
    'is active at once. A missing data folder is created too.',
  examples: [
    'causeway accounts create --name "Acme Ltd"',
    'causeway accounts create --name "Acme Ltd" --approved --json',
    'causeway accounts create --name "Acme Ltd, trial" --approved --sandbox',
  ],
  options: [
    new Option('--name <name>', 'your name for the customer (required)')
      .argParser(readText(200))
      .makeOptionMandatory(),
    new Option('--approved', 'make it active at once'),
    new Option('--sandbox', 'its money is sandbox credit: it buys sandbox models, and no real ones'),
  ],
  isNewAllowed: true,
  run: async ({ operate }, options) => {
    const created = await operate(createAccount, options);
    const { id, status } = created.account;
    return {
      json: created,
      text: formatTable(columns, [created.account]),
      remark: `Next: causeway ${status === 'active' ? 'keys issue' : 'accounts approve'} ${id}`,
    };
  },
};

const changeAnswer = (change: StatusChange): Answer => {
  const { account, changed } = change;
  return {
    json: change,
    text: `${account.id} (${account.name}) ${changed ? 'is now' : 'was already'} ${account.status}.`,
  };
};

const approve: CommandDefinition<[string]> = {
  name: 'approve',
  summary: 'make a pending or suspended account active',
  description: 'Makes a pending or suspended account active.',
  examples: [`causeway accounts approve ${exampleAccount}`],
  arguments: [accountArgument],
  run: async ({ operate }, accountId) =>
    changeAnswer(await operate(approveAccount, { account_id: accountId })),
};

const suspend: CommandDefinition<[string]> = {
  name: 'suspend',
  summary: 'stop all keys of an account',
  description:
    'Suspends an account: calls with any of its keys fail with 401 invalid_api_key from now on. Running jobs are ' +
    'finished and charged; balance and keys stay as they are. "accounts approve" makes it active again.',
  examples: [`causeway accounts suspend ${exampleAccount}`],
  arguments: [accountArgument],
  run: async ({ operate }, accountId) =>
    changeAnswer(await operate(suspendAccount, { account_id: accountId })),
};

const list: CommandDefinition<[{ limit: number; after?: string }]> = {
  name: 'list',
  summary: 'list accounts and their balances',
  description:
    'Lists accounts, oldest first. BALANCE is the amount that the account can spend: its ledger less the holds of ' +
    'open jobs (HELD). The account of a wallet has the name of its wallet.',
  examples: [
    'causeway accounts list',
    `causeway accounts list --limit 100 --after ${exampleAccount}`,
    `causeway accounts list --json | jq -r '.accounts[] | [.id, .balance_usd] | @tsv'`,
    `causeway accounts list --json | jq '.accounts[] | select(.wallet != null)'`,
  ],
  options: [
    limitOption(10_000, 1_000),
    new Option('--after <account>', 'list only accounts after this one: the next page'),
  ],
  run: async ({ operate }, options) => {
    const page = await operate(listAccounts, options);
    const { accounts, has_more: hasMore } = page;
    return {
      json: page,
      text: accounts.length === 0 ? 'There are no accounts.' : formatTable(columns, accounts),
      remark: hasMore ? `There are more: add --after ${accounts.at(-1)?.id}` : undefined,
    };
  },
};

const show: CommandDefinition<[string]> = {
  name: 'show',
  summary: 'show an account and its balance',
  description: 'Shows an account and its balance.',
  examples: [`causeway accounts show ${exampleAccount}`],
  arguments: [accountArgument],
  run: async ({ operate }, accountId) => {
    const found = await operate(getAccount, { account_id: accountId });
    return { json: found, text: formatTable(columns, [found.account]) };
  },
};

const transactions: CommandDefinition<[string, { limit: number; after?: string }]> = {
  name: 'transactions',
  summary: 'list the transactions of an account',
  description: 'Lists top-ups, debits, refunds and adjustments of an account, newest first.',
  examples: [
    `causeway accounts transactions ${exampleAccount}`,
    `causeway accounts transactions ${exampleAccount} --json | jq '.transactions[].amount_usd'`,
  ],
  arguments: [accountArgument],
  options: [
    limitOption(1_000, 100),
    new Option('--after <entry>', 'list only transactions before this one: the next page'),
  ],
  run: async ({ operate }, accountId, options) => {
    const page = await operate(listTransactions, { account_id: accountId, ...options });
    const { transactions: listed, has_more: hasMore } = page;
    return {
      json: page,
      text: listed.length === 0 ? 'There are no transactions.' : formatTable(entryColumns, listed),
      remark: hasMore ? `There are more: add --after ${listed.at(-1)?.id}` : undefined,
    };
  },
};

const entryColumns = {
  ENTRY: 'id',
  TYPE: 'type',
  'AMOUNT USD': { right: 'amount_usd' },
  CREATED: 'created_at',
  MODEL: 'model',
  REASON: 'reason',
};

const usage: CommandDefinition<[string, { from?: string; to?: string }]> = {
  name: 'usage',
  summary: 'sum up the jobs of an account and what they cost',
  description:
    'Sums up the jobs that an account created in a time and what they cost. Default: the last 30 days.',
  examples: [
    `causeway accounts usage ${exampleAccount}`,
    `causeway accounts usage ${exampleAccount} --from 2026-10-01 --to 2026-11-01 --json`,
  ],
  arguments: [accountArgument],
  options: [
    new Option('--from <time>', 'from this time: a date, or a date-time with its zone'),
    new Option('--to <time>', 'until before this time'),
  ],
  run: async ({ operate }, accountId, options) => {
    const sums = await operate(getUsage, { account_id: accountId, ...options });
    const rows = [...sums.by_model, { ...sums, model: 'all' }];
    return {
      json: sums,
      text: formatTable(
        usageColumns,
        rows.map((row) => ({ ...row, jobs: String(row.jobs.total) })),
      ),
    };
  },
};

const usageColumns = {
  MODEL: 'model',
  JOBS: { right: 'jobs' },
  'CHARGED USD': { right: 'charged_usd' },
  'REFUNDED USD': { right: 'refunded_usd' },
  'NET USD': { right: 'net_spent_usd' },
};

export const accountCommands: CommandGroup = {
  name: 'accounts',
  alias: 'account',
  summary: 'create, approve, suspend and list accounts; show their money; set their terms',
  description:
    'Creates, approves, suspends and lists the accounts of customers, shows their transactions and usage, and sets their ' +
    'own terms.',
  commands: [create, approve, suspend, list, show, transactions, usage, termsCommands],
};
