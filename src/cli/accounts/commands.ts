import type { Command } from 'commander';
import {
  approveAccount,
  suspendAccount,
  type AccountStatusChange,
} from '../../accounts/change-account-status.ts';
import { createAccount } from '../../accounts/create-account.ts';
import { toIso } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { formatUsd } from '../../kit/money.ts';
import type { Account } from '../../store/store.ts';
import type { Answer, CommandContext } from '../command-context.ts';
import { notFound, requireFound } from '../command-error.ts';
import { exampleAccount, addExamples } from '../examples.ts';
import { formatTable } from '../format-table.ts';
import { readCount, readText } from '../read-arguments.ts';
import { addTermsCommands } from './terms-commands.ts';

const maxListed = 10_000;

/** Adds `accounts create`, `approve`, `suspend`, `list` and `terms`. `account` is an alias of `accounts`. */
export const addAccountCommands = (program: Command, context: CommandContext): void => {
  const accounts = program
    .command('accounts')
    .alias('account')
    .summary('create, approve, suspend and list accounts; set their terms')
    .description(
      'Creates, approves, suspends and lists the accounts of customers, and sets their own terms.',
    );
  addExamples(accounts, ['causeway accounts create --name "Acme Ltd" --approved', 'causeway accounts list']);
  addCreate(accounts, context);
  addApprove(accounts, context);
  addSuspend(accounts, context);
  addList(accounts, context);
  addTermsCommands(accounts, context);
};

const addCreate = (accounts: Command, context: CommandContext): void => {
  const command = accounts
    .command('create')
    .summary('create an account')
    .description(
      'Creates an account without money. It is pending, and keys can be issued once it is approved; with --approved ' +
        'it is active at once. A missing data folder is created too.',
    )
    .requiredOption('--name <name>', 'your name for the customer (required)', readText(200))
    .option('--approved', 'make it active at once')
    .option('--sandbox', 'its money is sandbox credit: it buys sandbox models, and no real ones')
    .action((options: { name: string; approved?: true; sandbox?: true }) =>
      context.run(
        async (session) => {
          const account = await createAccount(session, {
            name: options.name,
            status: options.approved === true ? 'active' : 'pending',
            isSandbox: options.sandbox === true,
          });
          const next = account.status === 'active' ? 'keys issue' : 'accounts approve';
          return {
            json: { account: accountJson(account) },
            text: accountTable([account]),
            remark: `Next: causeway ${next} ${account.id}`,
          };
        },
        { isNewAllowed: true },
      ),
    );
  addExamples(command, [
    'causeway accounts create --name "Acme Ltd"',
    'causeway accounts create --name "Acme Ltd" --approved --json',
    'causeway accounts create --name "Acme Ltd, trial" --approved --sandbox',
  ]);
};

const addApprove = (accounts: Command, context: CommandContext): void => {
  const command = accounts
    .command('approve')
    .summary('make a pending or suspended account active')
    .description('Makes a pending or suspended account active.')
    .argument('<account>', 'id of the account')
    .action((accountId: string) =>
      context.run(async (session) => changeAnswer(await approveAccount(session, accountId), accountId)),
    );
  addExamples(command, [`causeway accounts approve ${exampleAccount}`]);
};

const addSuspend = (accounts: Command, context: CommandContext): void => {
  const command = accounts
    .command('suspend')
    .summary('stop all keys of an account')
    .description(
      'Suspends an account: calls with any of its keys fail with 401 invalid_api_key from now on. Running jobs are ' +
        'finished and charged; balance and keys stay as they are. "accounts approve" makes it active again.',
    )
    .argument('<account>', 'id of the account')
    .action((accountId: string) =>
      context.run(async (session) => changeAnswer(await suspendAccount(session, accountId), accountId)),
    );
  addExamples(command, [`causeway accounts suspend ${exampleAccount}`]);
};

const changeAnswer = (change: AccountStatusChange, accountId: string): Answer => {
  const { account, changed } = requireFound(change, 'account', accountId);
  return {
    json: { account: accountJson(account), changed },
    text: `${account.id} (${account.name}) ${changed ? 'is now' : 'was already'} ${account.status}.`,
  };
};

const addList = (accounts: Command, context: CommandContext): void => {
  const command = accounts
    .command('list')
    .summary('list accounts and their balances')
    .description(
      'Lists accounts, oldest first. BALANCE is the amount that the account can spend: its ledger less the holds of ' +
        'open jobs (HELD).',
    )
    .option('--limit <count>', 'list at most this many', readCount(maxListed), 1_000)
    .option('--after <account>', 'list only accounts after this one: the next page')
    .action(({ limit, after: afterId }: { limit: number; after?: string }) =>
      context.run(async ({ store }) => {
        if (afterId !== undefined && (await store.getAccount(afterId)) === null)
          throw notFound('account', afterId);
        const found = await store.listAccounts({ limit: limit + 1, afterId });
        const listed = found.slice(0, limit);
        const hasMore = found.length > limit;
        return {
          json: { accounts: listed.map(accountJson), has_more: hasMore },
          text: listed.length === 0 ? 'There are no accounts.' : accountTable(listed),
          remark: hasMore ? `There are more: add --after ${listed.at(-1)?.id}` : undefined,
        };
      }),
    );
  addExamples(command, [
    'causeway accounts list',
    `causeway accounts list --limit 100 --after ${exampleAccount}`,
    `causeway accounts list --json | jq -r '.accounts[] | [.id, .balance_usd] | @tsv'`,
  ]);
};

/** As in the API, `balance_usd` is the available amount: the sum of the ledger less the holds of open jobs. */
const accountJson = (account: Account): JsonObject => ({
  id: account.id,
  name: account.name,
  status: account.status,
  sandbox: account.isSandbox,
  balance_usd: formatUsd(account.balance - account.held),
  held_usd: formatUsd(account.held),
  ledger_usd: formatUsd(account.balance),
  created_at: toIso(account.createdAt),
});

const accountTable = (accounts: readonly Account[]): string =>
  formatTable(
    {
      ACCOUNT: 'id',
      STATUS: 'status',
      SANDBOX: 'sandbox',
      'BALANCE USD': { right: 'balance_usd' },
      'HELD USD': { right: 'held_usd' },
      CREATED: 'created_at',
      NAME: 'name',
    },
    accounts.map(accountJson),
  );
