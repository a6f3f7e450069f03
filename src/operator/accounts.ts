import { z } from 'zod';
import { toIso } from '../kit/clock.ts';
import { formatUsd } from '../kit/money.ts';
import { time, usd } from '../operations/answer-fields.ts';
import type { Account } from '../store/store.ts';
import { accountIdField, limitField, lineField, pageField } from './fields.ts';
import { operatorRead, operatorWrite, type CommandForm } from './operator-operation.ts';
import { requireFound } from './require-found.ts';
import { defineView, toPage } from './view.ts';

export const accountView = defineView<Account>({
  sandbox: 'True: its money is sandbox credit, which buys sandbox models only.',
  wallet: 'The wallet that owns it, such as `eip155:0x…` or `solana:…`; null: an account that you made.',
  balance_usd: 'What the account can spend: its ledger less the holds of open jobs.',
})({
  id: [z.string(), 'id', '0b9f3c1e-5d0a-4c59-9a61-2f6f0f5f7d11'],
  name: [z.string(), 'name', 'Acme Ltd'],
  status: [z.enum(['pending', 'active', 'suspended']), 'status', 'active'],
  sandbox: [z.boolean(), 'isSandbox', false],
  wallet: [z.string().nullable(), 'wallet', null],
  balance_usd: [usd, ({ balance, held }) => formatUsd(balance - held), '24.96'],
  held_usd: [usd, ({ held }) => formatUsd(held), '0.04'],
  ledger_usd: [usd, ({ balance }) => formatUsd(balance), '25.00'],
  created_at: [time, ({ createdAt }) => toIso(createdAt), '2026-11-01T08:00:00.000Z'],
});

export const exampleAccountId = accountView.example.id;

const columns = 'id=ACCOUNT status sandbox >balance_usd >held_usd created_at name';

const ofAccount = {
  group: 'accounts',
  fields: { account_id: accountIdField },
  example: { account_id: exampleAccountId },
  errors: ['account_not_found'],
} as const;

export const listAccounts = operatorRead({
  name: 'list_accounts',
  title: 'List accounts',
  description: 'Accounts and their balances, oldest first.',
  group: 'accounts',
  path: '/accounts',
  fields: { limit: limitField(10_000, 1_000), after: pageField('account') },
  output: z.strictObject({ accounts: z.array(accountView.schema), has_more: z.boolean() }),
  answer: 'AccountPage',
  example: { limit: 100 },
  errors: ['account_not_found'],
  command: {
    usage: 'accounts list [--limit <count>] [--after <account>]',
    more:
      'BALANCE is what the account can spend: its ledger less the holds of open jobs (HELD). The account of a wallet ' +
      'has the name of its wallet.',
    examples: [
      `--json | jq -r '.accounts[] | [.id, .balance_usd] | @tsv'`,
      `--json | jq '.accounts[] | select(.wallet != null)'`,
    ],
    of: 'accounts',
    table: { columns, none: 'There are no accounts.' },
  },
  handle: async ({ limit, after: afterId }, { store }) => {
    if (afterId !== undefined) requireFound(await store.getAccount(afterId), 'account', afterId);
    const found = await store.listAccounts({ limit: limit + 1, afterId });
    return toPage('accounts', found, { limit, show: accountView.show });
  },
});

export const getAccount = operatorRead({
  ...ofAccount,
  name: 'get_account',
  title: 'Read an account',
  description: 'One account and its balance.',
  path: '/accounts/{account_id}',
  output: z.strictObject({ account: accountView.schema }),
  answer: 'AccountAnswer',
  command: { usage: 'accounts show <account>', of: 'account', table: { columns } },
  handle: async ({ account_id: accountId }, { store }) => ({
    account: accountView.show(requireFound(await store.getAccount(accountId), 'account', accountId)),
  }),
});

export const createAccount = operatorWrite({
  name: 'create_account',
  title: 'Create an account',
  description:
    'Creates an account without money. It is pending, and keys can be issued once it is approved; with `approved` it is ' +
    'active at once.',
  group: 'accounts',
  path: '/accounts',
  fields: {
    name: lineField(200).describe('Your name for the customer.'),
    approved: z.boolean().default(false).describe('True: it is active at once.'),
    sandbox: z
      .boolean()
      .default(false)
      .describe('True: its money is sandbox credit, which buys sandbox models only.'),
  },
  output: z.strictObject({ account: accountView.schema }),
  answer: 'CreatedAccount',
  example: { name: 'Acme Ltd', approved: true },
  exampleAnswer: {
    account: { ...accountView.example, balance_usd: '0.00', held_usd: '0.00', ledger_usd: '0.00' },
  },
  command: {
    usage: 'accounts create --name <name> [--approved] [--sandbox]',
    more: 'A missing data folder is created too.',
    examples: ['--name "Acme Ltd" --json', '--name "Acme Ltd, trial" --approved --sandbox'],
    isNewAllowed: true,
    of: 'account',
    table: {
      columns,
      remark: ({ account: { id, status } }) =>
        `Next: causeway ${status === 'active' ? 'keys issue' : 'accounts approve'} ${id}`,
    },
  },
  handle: async ({ name, approved, sandbox }, { store, clock }, callId) => {
    const status = approved ? 'active' : 'pending';
    const created = { id: callId, name, status, isSandbox: sandbox, now: clock.now() } as const;
    return { account: accountView.show(await store.createAccount(created)) };
  },
});

const statusChange = z.strictObject({
  account: accountView.schema,
  changed: z.boolean().describe('False: it already had that status.'),
});

interface StatusParts {
  name: string;
  title: string;
  description: string;
  path: string;
  status: 'active' | 'suspended';
  command: Pick<CommandForm, 'usage' | 'more'>;
}

const changeStatus = ({ status, command, ...parts }: StatusParts) =>
  operatorWrite({
    ...ofAccount,
    ...parts,
    output: statusChange,
    answer: 'StatusChange',
    exampleAnswer: { account: { ...accountView.example, status }, changed: true },
    command: {
      ...command,
      show: ({ account, changed }) =>
        `${account.id} (${account.name}) ${changed ? 'is now' : 'was already'} ${account.status}.`,
    },
    handle: async ({ account_id: id }, { store, clock }) => {
      const before = requireFound(await store.getAccount(id), 'account', id);
      if (before.status === status) return { account: accountView.show(before), changed: false };
      const changed = await store.setAccountStatus({ id, status, now: clock.now() });
      return { account: accountView.show(requireFound(changed, 'account', id)), changed: true };
    },
  });

export const approveAccount = changeStatus({
  name: 'approve_account',
  title: 'Approve an account',
  description: 'Makes a pending or suspended account active, so that its keys work.',
  path: '/accounts/{account_id}/approve',
  status: 'active',
  command: { usage: 'accounts approve <account>' },
});

export const suspendAccount = changeStatus({
  name: 'suspend_account',
  title: 'Suspend an account',
  description:
    'Suspends an account: calls with any of its keys fail with 401 invalid_api_key from now on. Running jobs are ' +
    'finished and charged; balance and keys stay as they are.',
  path: '/accounts/{account_id}/suspend',
  status: 'suspended',
  command: {
    usage: 'accounts suspend <account>',
    more: '"accounts approve" makes it active again.',
  },
});
