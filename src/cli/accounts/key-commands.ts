import { Argument, Option } from 'commander';
import type { z } from 'zod';
import type { limitFields } from '../../operations/keys/key-fields.ts';
import { changeKey } from '../../operator/keys/change-key.ts';
import { issueKey } from '../../operator/keys/issue-key.ts';
import type { KeyView } from '../../operator/keys/key-view.ts';
import { listKeys } from '../../operator/keys/list-keys.ts';
import { revokeKey } from '../../operator/keys/revoke-key.ts';
import { accountArgument, type CommandDefinition, type CommandGroup } from '../command-definition.ts';
import { exampleAccount, exampleId } from '../examples.ts';
import { formatTable } from '../format-table.ts';
import { readText } from '../read-arguments.ts';

const columns = {
  'KEY ID': 'id',
  KEY: 'display',
  CREATED: 'created_at',
  EXPIRES: 'expires_at',
  REVOKED: 'revoked_at',
  'USD TODAY': 'day',
  'USD THIS MONTH': 'month',
  MODELS: 'models',
  LABEL: 'label',
};

/** Shows what is spent of a budget, such as `1.25 of 5.00`. */
const budgetCell = (spent: string | null, budget: string | null): string | null =>
  budget === null ? spent : `${spent ?? '0.00'} of ${budget}`;

const toRow = (key: KeyView) => ({
  ...key,
  day: budgetCell(key.day_spent_usd, key.budget_day_usd),
  month: budgetCell(key.month_spent_usd, key.budget_month_usd),
  models: key.models?.join(',') ?? null,
});

interface LimitOptions {
  expires?: string;
  models?: string;
  budgetDay?: string;
  budgetMonth?: string;
  alertUrl?: string;
}

type WrittenLimits = { [Field in keyof typeof limitFields]?: z.input<(typeof limitFields)[Field]> };

const limitOptions = [
  new Option('--expires <time>', 'refuse the key from then on, such as 2027-01-31'),
  new Option('--models <skus>', 'the only SKUs that it can buy, divided by commas'),
  new Option('--budget-day <usd>', 'the most that it may spend in a UTC day, such as 5.00'),
  new Option('--budget-month <usd>', 'the most that it may spend in a UTC month'),
  new Option('--alert-url <url>', 'gets a signed webhook at 80 % and 100 % of a budget'),
];

const toLimits = ({ expires, models, budgetDay, budgetMonth, alertUrl }: LimitOptions): WrittenLimits => ({
  expires_at: orNone(expires),
  models: models === 'none' ? null : models?.split(','),
  budget_day_usd: orNone(budgetDay),
  budget_month_usd: orNone(budgetMonth),
  alert_url: orNone(alertUrl),
});

const orNone = (text: string | undefined): string | null | undefined => (text === 'none' ? null : text);

const labelOption = (): Option =>
  new Option('--label <label>', "the customer's name for the key").argParser(readText(100));

const issue: CommandDefinition<[string, LimitOptions & { label: string }]> = {
  name: 'issue',
  summary: 'issue a new API key and show it once',
  description:
    'Issues a new API key for an active account. The key is shown only this once, as only its hash is stored. Without ' +
    '--json, the key alone goes to stdout.',
  examples: [
    `causeway keys issue ${exampleAccount}`,
    `causeway keys issue ${exampleAccount} --label production --json | jq -r .key`,
    `causeway keys issue ${exampleAccount} --label trial --expires 2027-01-31 --budget-day 5.00`,
  ],
  arguments: [accountArgument],
  options: [labelOption().default(''), ...limitOptions],
  run: async ({ operate }, accountId, { label, ...limits }) => {
    const issued = await operate(issueKey, { account_id: accountId, label, ...toLimits(limits) });
    return {
      json: issued,
      text: issued.key,
      remark: `Key ${issued.api_key.id} of account ${accountId}. Keep it safe: it is not shown again.`,
    };
  },
};

const set: CommandDefinition<[string, LimitOptions & { label?: string }]> = {
  name: 'set',
  summary: 'change the limits of a key',
  description:
    'Changes the limits of a key, from its next call on. Options that are left out change nothing; "none" removes a ' +
    'limit. A budget counts the calls that are made while the key has one.',
  examples: [
    `causeway keys set ${exampleId} --budget-month 100`,
    `causeway keys set ${exampleId} --budget-day none --models textmodel-3.5-flash`,
  ],
  arguments: [new Argument('<key>', 'id of the key, as "keys list" shows it')],
  options: [labelOption(), ...limitOptions],
  run: async ({ operate }, keyId, { label, ...limits }) => {
    const changed = await operate(changeKey, { key_id: keyId, label, ...toLimits(limits) });
    return { json: changed, text: formatTable(columns, [toRow(changed.api_key)]) };
  },
};

const revoke: CommandDefinition<[string]> = {
  name: 'revoke',
  summary: 'end a key for good',
  description:
    'Revokes a key: calls with it fail with 401 invalid_api_key from now on. This cannot be undone. A leaked key can ' +
    'be given whole in place of its id.',
  examples: [`causeway keys revoke ${exampleId}`],
  arguments: [new Argument('<key>', 'id of the key, as "keys list" shows it')],
  run: async ({ operate }, keyOrId) => {
    const revoked = await operate(revokeKey, { key_id: keyOrId });
    const { id, display, revoked_at: revokedAt } = revoked.api_key;
    return { json: revoked, text: `${display} (${id}) is revoked since ${revokedAt ?? 'now'}.` };
  },
};

const list: CommandDefinition<[string]> = {
  name: 'list',
  summary: 'list the keys of an account',
  description:
    'Lists the keys of an account, newest first: their first and last characters, their limits, and what they spent ' +
    'today and this month while they had a budget.',
  examples: [`causeway keys list ${exampleAccount}`, `causeway keys list ${exampleAccount} --json`],
  arguments: [accountArgument],
  run: async ({ operate }, accountId) => {
    const listed = await operate(listKeys, { account_id: accountId });
    const keys = listed.api_keys;
    return {
      json: listed,
      text: keys.length === 0 ? 'The account has no keys.' : formatTable(columns, keys.map(toRow)),
    };
  },
};

export const keyCommands: CommandGroup = {
  name: 'keys',
  summary: 'issue, limit, revoke and list API keys',
  description: 'Issues, limits, revokes and lists the API keys of an account.',
  commands: [issue, set, revoke, list],
};
