import type { Command } from 'commander';
import {
  approveAccount,
  suspendAccount,
  type AccountStatusChange,
} from '../../accounts/change-account-status.ts';
import { createAccount } from '../../accounts/create-account.ts';
import type { Account } from '../../store/store.ts';
import type { Answer, CommandContext } from '../command-context.ts';
import { addExamples, exampleAccount } from '../examples.ts';
import { readCount, readText } from '../read-text.ts';
import { noAccount } from '../refusals.ts';
import { addTermsCommands } from './terms-commands.ts';
import { accountJson, accountTable } from '../views.ts';

const maxListed = 10_000;

/** Adds `accounts create`, `approve`, `suspend`, `list` and `terms`; `account` is the same word. */
export const addAccountCommands = (program: Command, context: CommandContext): void => {
  const accounts = program
    .command('accounts')
    .alias('account')
    .summary('make, approve, suspend and list accounts; set their terms')
    .description('Makes, approves, suspends and lists the accounts of customers, and sets their own terms.');
  addExamples(accounts, ['causeway accounts create --name "Acme Ltd" --approved', 'causeway accounts list']);
  addCreate(accounts, context);
  addApprove(accounts, context);
  addSuspend(accounts, context);
  addList(accounts, context);
  addTermsCommands(accounts, context);
};

const addCreate = (accounts: Command, context: CommandContext): void => {
  const create = accounts
    .command('create')
    .summary('make an account')
    .description(
      'Makes an account without money. It is pending, and keys can be issued once it is approved; with --approved ' +
        'it is active at once. Where the data folder does not exist yet, it is made too.',
    )
    .requiredOption('--name <name>', 'what you call the customer (required)', readText(200))
    .option('--approved', 'make it active at once')
    .option('--sandbox', 'its money is sandbox credit: it buys what the sandbox makes, and no real models')
    .action((options: { name: string; approved?: true; sandbox?: true }) =>
      context.runCreating(async (session) => {
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
      }),
    );
  addExamples(create, [
    'causeway accounts create --name "Acme Ltd"',
    'causeway accounts create --name "Acme Ltd" --approved --json',
    'causeway accounts create --name "Acme Ltd, trial" --approved --sandbox',
  ]);
};

const addApprove = (accounts: Command, context: CommandContext): void => {
  const approve = accounts
    .command('approve')
    .summary('make a pending or suspended account active')
    .description('Makes an account active: a pending one for the first time, a suspended one again.')
    .argument('<account>', 'id of the account')
    .action((accountId: string) =>
      context.run(async (session) => changeAnswer(await approveAccount(session, accountId), accountId)),
    );
  addExamples(approve, [`causeway accounts approve ${exampleAccount}`]);
};

const addSuspend = (accounts: Command, context: CommandContext): void => {
  const suspend = accounts
    .command('suspend')
    .summary('stop all keys of an account')
    .description(
      'Makes every key of the account answer 401 invalid_api_key from now on. Jobs that run are finished and charged; ' +
        'balance and keys stay as they are. "accounts approve" takes it back.',
    )
    .argument('<account>', 'id of the account')
    .action((accountId: string) =>
      context.run(async (session) => changeAnswer(await suspendAccount(session, accountId), accountId)),
    );
  addExamples(suspend, [`causeway accounts suspend ${exampleAccount}`]);
};

const changeAnswer = (change: AccountStatusChange, accountId: string): Answer => {
  if (change === null) throw noAccount(accountId);
  const { account, changed } = change;
  return {
    json: { account: accountJson(account), changed },
    text: `${account.id} (${account.name}) ${changed ? 'is now' : 'was already'} ${account.status}.`,
  };
};

const addList = (accounts: Command, context: CommandContext): void => {
  const list = accounts
    .command('list')
    .summary('list accounts and their balances')
    .description(
      'Lists accounts, oldest first. BALANCE is what the account can spend: its ledger less what open jobs hold (HELD).',
    )
    .option('--limit <count>', 'list at most this many', readCount(maxListed), 1_000)
    .option('--after <account>', 'go on after this account')
    .action((options: { limit: number; after?: string }) =>
      context.run(async ({ store }) => {
        const { limit, after: afterId } = options;
        if (afterId !== undefined && (await store.getAccount(afterId)) === null) throw noAccount(afterId);
        const found = await store.listAccounts({ limit: limit + 1, afterId });
        return listAnswer(found.slice(0, limit), found.length > limit);
      }),
    );
  addExamples(list, [
    'causeway accounts list',
    `causeway accounts list --limit 100 --after ${exampleAccount}`,
    `causeway accounts list --json | jq -r '.accounts[] | [.id, .balance_usd] | @tsv'`,
  ]);
};

const listAnswer = (accounts: Account[], hasMore: boolean): Answer => ({
  json: { accounts: accounts.map(accountJson), has_more: hasMore },
  text: accounts.length === 0 ? 'There are no accounts.' : accountTable(accounts),
  ...(hasMore ? { remark: `There are more: add --after ${accounts.at(-1)?.id}` } : {}),
});
