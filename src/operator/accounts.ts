import { z } from 'zod';
import {
  AccountTermsError,
  checkAccountTerms,
  termsSchema,
  toTermsText,
  type AccountTerms,
} from '../accounts/catalog/account-terms.ts';
import { AppError } from '../kit/errors.ts';
import { formatUsd } from '../kit/money.ts';
import { autoTopUpView } from '../operations/account/auto-top-up.ts';
import { timeOf, usd, usdOf } from '../operations/answer-fields.ts';
import type { Account } from '../store/store.ts';
import { accountIdField, exampleAccountId, limitField, lineField, pageField } from './fields.ts';
import { readVerb, requireFound, writeVerb } from './verb.ts';
import type { CommandForm, OperatorServices, Verb } from './verb.ts';
import { defineView, toPage } from '../operations/view.ts';

export const accountView = defineView<Account>({
  sandbox: 'True: its money is sandbox credit, which buys sandbox models only.',
  wallet: 'The wallet that owns it, such as `eip155:0x…` or `solana:…`; null: an account that you made.',
  balance_usd: 'What the account can spend: its ledger less the holds of open jobs.',
})({
  id: [z.string(), 'id', exampleAccountId],
  name: [z.string(), 'name', 'Acme Ltd'],
  status: [z.enum(['pending', 'active', 'suspended']), 'status', 'active'],
  sandbox: [z.boolean(), 'isSandbox', false],
  wallet: [z.string().nullable(), 'wallet', null],
  balance_usd: [usd, ({ balance, held }) => formatUsd(balance - held), '24.96'],
  held_usd: usdOf('held', '0.04'),
  ledger_usd: usdOf('balance', '25.00'),
  created_at: timeOf('createdAt', '2026-11-01T08:00:00.000Z'),
});

const columns = 'id=ACCOUNT status sandbox >balance_usd >held_usd created_at name';

const ofAccount = {
  fields: { account_id: accountIdField },
  example: { account_id: exampleAccountId },
  errors: ['account_not_found'],
} as const;

export const listAccounts = readVerb({
  name: 'list_accounts',
  title: 'List accounts',
  description: 'Accounts and their balances, oldest first.',
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
    table: { columns, none: 'There are no accounts.' },
  },
  handle: async ({ limit, after: afterId }, { store }) => {
    if (afterId !== undefined) requireFound(await store.getAccount(afterId), 'account', afterId);
    const found = await store.listAccounts({ limit: limit + 1, afterId });
    return toPage('accounts', found, { limit, show: accountView.show });
  },
});

export const getAccount = readVerb({
  ...ofAccount,
  name: 'get_account',
  title: 'Read an account',
  description: 'One account, its balance, and its automatic top-up by card.',
  path: '/accounts/{account_id}',
  output: z.strictObject({ account: accountView.schema, auto_top_up: autoTopUpView.schema }),
  answer: 'AccountAnswer',
  command: {
    usage: 'accounts show <account>',
    table: {
      columns,
      remark: ({ auto_top_up: { state, stopped_for: stoppedFor } }) =>
        `Automatic top-up: ${state}${stoppedFor === null ? '' : ` (${stoppedFor})`}.`,
    },
  },
  handle: async ({ account_id: accountId }, { store }) => ({
    account: accountView.show(requireFound(await store.getAccount(accountId), 'account', accountId)),
    auto_top_up: autoTopUpView.show(await store.getAutoTopUp(accountId)),
  }),
});

export const createAccount = writeVerb({
  name: 'create_account',
  title: 'Create an account',
  description:
    'Creates an account without money. It is pending, and keys can be issued once it is approved; with `approved` it is ' +
    'active at once.',
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

interface StatusParts extends Pick<Verb, 'name' | 'title' | 'description'> {
  path: string;
  status: 'active' | 'suspended';
  command: Pick<CommandForm, 'usage' | 'more'>;
}

const changeStatus = ({ status, command, ...parts }: StatusParts) =>
  writeVerb({
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
  command: { usage: 'accounts suspend <account>', more: '"accounts approve" makes it active again.' },
});

const terms = {
  models: ['imagemodel-1.0'],
  prices: { 'imagemodel-1.0': { unit: 'call', price_usd: '0.03' } },
  requests_per_minute: 1200,
};

/** The stored terms are not checked, as a newer version may have written them. */
const termsView = defineView<Account>({
  terms: 'Null: none of its own, so those of the gateway hold.',
})({
  account_id: [z.string(), 'id', exampleAccountId],
  terms: [
    z.record(z.string(), z.json()).nullable(),
    (account) => (account.terms === null ? null : JSON.parse(account.terms)),
    terms,
  ],
});

export type TermsAnswer = typeof termsView.example;

const ofTerms = {
  ...ofAccount,
  path: '/accounts/{account_id}/terms',
  output: termsView.schema,
  answer: 'AccountTerms',
} as const;

export const noTerms = ({ account_id: id }: TermsAnswer): string => `${id} has no terms of its own.`;

export const getAccountTerms = readVerb({
  ...ofTerms,
  name: 'get_account_terms',
  title: 'Read the terms of an account',
  description: 'The own SKUs, prices and limits of an account.',
  command: {
    usage: 'accounts terms show <account>',
    more: 'They are shown as YAML, a file for "terms set".',
    show: async (answer) => {
      const { stringify } = await import('yaml');
      return answer.terms === null ? noTerms(answer) : stringify(answer.terms).trimEnd();
    },
  },
  handle: async ({ account_id: id }, { store }) =>
    termsView.show(requireFound(await store.getAccount(id), 'account', id)),
});

/** Returns the text to store. Throws AppError that names the wrong part. */
const toCheckedText = async (terms: AccountTerms, { config }: OperatorServices): Promise<string> => {
  const { models } = await config();
  try {
    checkAccountTerms(terms, models);
    return toTermsText(terms);
  } catch (error) {
    if (!(error instanceof AccountTermsError)) throw error;
    throw new AppError('invalid_parameter', `terms.${error.message}`, { param: 'terms', cause: error });
  }
};

export const setAccountTerms = writeVerb({
  ...ofTerms,
  name: 'set_account_terms',
  title: 'Replace the terms of an account',
  description:
    'Replaces the own SKUs, prices and limits of an account, from its next call on. Admitted jobs keep their price. The ' +
    'settings of the gateway hold for everything that the terms leave out.',
  fields: {
    account_id: accountIdField,
    terms: termsSchema.nullable().describe('All of its own terms; null removes them.'),
  },
  example: { account_id: exampleAccountId, terms },
  handle: async ({ account_id: id, terms }, services) => {
    const text = terms === null ? null : await toCheckedText(terms, services);
    const account = await services.store.setAccountTerms({ id, terms: text });
    return termsView.show(requireFound(account, 'account', id));
  },
});
