import { Option } from 'commander';
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
import {
  accountArgument,
  limitOption,
  type CommandDefinition,
  type CommandGroup,
} from '../command-definition.ts';
import type { Answer } from '../command-context.ts';
import { requireFound } from '../command-error.ts';
import { exampleAccount } from '../examples.ts';
import { formatTable } from '../format-table.ts';
import { readText } from '../read-arguments.ts';
import { termsCommands } from './terms-commands.ts';

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
  run: async (session, { name, approved, sandbox }) => {
    const status = approved === true ? 'active' : 'pending';
    const created = await createAccount(session, { name, status, isSandbox: sandbox === true });
    const account = accountJson(created);
    return {
      json: { account },
      text: formatTable(columns, [account]),
      remark: `Next: causeway ${status === 'active' ? 'keys issue' : 'accounts approve'} ${created.id}`,
    };
  },
};

const changeAnswer = (change: AccountStatusChange, accountId: string): Answer => {
  const { account, changed } = requireFound(change, 'account', accountId);
  return {
    json: { account: accountJson(account), changed },
    text: `${account.id} (${account.name}) ${changed ? 'is now' : 'was already'} ${account.status}.`,
  };
};

const approve: CommandDefinition<[string]> = {
  name: 'approve',
  summary: 'make a pending or suspended account active',
  description: 'Makes a pending or suspended account active.',
  examples: [`causeway accounts approve ${exampleAccount}`],
  arguments: [accountArgument],
  run: async (session, accountId) => changeAnswer(await approveAccount(session, accountId), accountId),
};

const suspend: CommandDefinition<[string]> = {
  name: 'suspend',
  summary: 'stop all keys of an account',
  description:
    'Suspends an account: calls with any of its keys fail with 401 invalid_api_key from now on. Running jobs are ' +
    'finished and charged; balance and keys stay as they are. "accounts approve" makes it active again.',
  examples: [`causeway accounts suspend ${exampleAccount}`],
  arguments: [accountArgument],
  run: async (session, accountId) => changeAnswer(await suspendAccount(session, accountId), accountId),
};

const list: CommandDefinition<[{ limit: number; after?: string }]> = {
  name: 'list',
  summary: 'list accounts and their balances',
  description:
    'Lists accounts, oldest first. BALANCE is the amount that the account can spend: its ledger less the holds of ' +
    'open jobs (HELD).',
  examples: [
    'causeway accounts list',
    `causeway accounts list --limit 100 --after ${exampleAccount}`,
    `causeway accounts list --json | jq -r '.accounts[] | [.id, .balance_usd] | @tsv'`,
  ],
  options: [
    limitOption(10_000, 1_000),
    new Option('--after <account>', 'list only accounts after this one: the next page'),
  ],
  run: async ({ store }, { limit, after: afterId }) => {
    if (afterId !== undefined) requireFound(await store.getAccount(afterId), 'account', afterId);
    const found = await store.listAccounts({ limit: limit + 1, afterId });
    const listed = found.slice(0, limit);
    const hasMore = found.length > limit;
    const accounts = listed.map(accountJson);
    return {
      json: { accounts, has_more: hasMore },
      text: listed.length === 0 ? 'There are no accounts.' : formatTable(columns, accounts),
      remark: hasMore ? `There are more: add --after ${listed.at(-1)?.id}` : undefined,
    };
  },
};

export const accountCommands: CommandGroup = {
  name: 'accounts',
  alias: 'account',
  summary: 'create, approve, suspend and list accounts; set their terms',
  description: 'Creates, approves, suspends and lists the accounts of customers, and sets their own terms.',
  commands: [create, approve, suspend, list, termsCommands],
};
