import { z } from 'zod';
import { AppError, wrongField } from '../kit/errors.ts';
import { idField } from '../operations/id-field.ts';
import {
  keyIdField,
  labelField,
  limitFields,
  readLimits,
  toolsToName,
  type WrittenLimits,
} from '../operations/keys/key-fields.ts';
import { keyView as ownView } from '../operations/keys/key-answer.ts';
import { changeLimits, noLimits, noUse, type LimitChanges } from '../rules/key-limits.ts';
import type { UsedKey } from '../store/store.ts';
import { exampleAccountId, accountIdField, limitField } from './fields.ts';
import { readVerb, writeVerb, type OperatorServices, notFound, requireFound } from './verb.ts';
import { defineView, like, toPage } from '../operations/view.ts';
import { displayKeyOrId, issueKey as issue, revokeKey as revoke } from '../accounts/keys.ts';

const keyView = defineView<UsedKey>()({
  account_id: [z.string(), 'accountId', exampleAccountId],
  ...ownView.members,
});
export const { schema: keySchema } = keyView;
const { example } = keyView;

type KeyView = typeof example;

/** Reads a key as it is now. Throws AppError `key_not_found`. */
const findKeyView = async (id: string, { store, clock }: OperatorServices): Promise<KeyView> =>
  keyView.show(requireFound(await store.getKey({ id, now: clock.now() }), 'key', id));

/** Reads limits as an operator writes them. The settings of the gateway are read only for those that need them. */
const readKnownLimits = async (
  written: WrittenLimits,
  { clock, config, store }: OperatorServices,
): Promise<LimitChanges> => {
  const isPlain = (written.models ?? written.tools ?? written.alert_url ?? null) === null;
  const { models, mounts, allowsLoopbackUrls } = isPlain
    ? { models: [], mounts: [], allowsLoopbackUrls: false }
    : await config();
  return readLimits(written, {
    skus: models.map(({ sku }) => sku),
    tools: await toolsToName(mounts, store),
    allowsLoopback: allowsLoopbackUrls,
    now: clock.now(),
  });
};

/** Shows what is spent of a budget, such as `1.25 of 5.00`. */
export const budgetCell = (spent: string | null, budget: string | null): string | null =>
  budget === null ? spent : `${spent ?? '0.00'} of ${budget}`;

const table = {
  columns:
    'id=KEY_ID display=KEY created_at last_used_at expires_at revoked_at day=USD_TODAY month=USD_THIS_MONTH total=USD_IN_ALL models tools label',
  row: (key: KeyView) => ({
    day: budgetCell(key.day_spent_usd, key.budget_day_usd),
    month: budgetCell(key.month_spent_usd, key.budget_month_usd),
    total: budgetCell(key.total_spent_usd, key.budget_total_usd),
    models: key.models?.join(',') ?? null,
    tools: key.tools?.join(',') ?? null,
  }),
};

const limitUsage =
  '[--label <label>] [--expires <time>] [--models <skus>] [--tools <names>] [--budget-day <usd>] ' +
  '[--budget-month <usd>] [--budget-total <usd>] [--alert-url <url>]';

export const issueKey = writeVerb({
  name: 'issue_key',
  title: 'Issue a key',
  description:
    'Issues an API key for an active account, with limits if you like. The whole key is answered only this once.',
  path: '/accounts/{account_id}/keys',
  fields: { account_id: accountIdField, label: labelField.default(''), ...limitFields },
  output: z.strictObject({
    key: like(z.string().describe('The whole key. It is shown only now.'), 'sk_causeway_…'),
    api_key: keySchema,
  }),
  answer: 'IssuedKey',
  example: { account_id: exampleAccountId, label: 'nightly reports', budget_day_usd: '5.00' },
  errors: ['account_not_found', 'account_not_active'],
  command: {
    usage: `keys issue <account> ${limitUsage}`,
    more: 'Without --json, the key alone goes to stdout.',
    examples: [`${exampleAccountId} --label production --json | jq -r .key`],
    show: ({ key, api_key: { id, account_id: accountId } }) => ({
      text: key,
      remark: `Key ${id} of account ${accountId}. Keep it safe: it is not shown again.`,
    }),
  },
  handle: async ({ account_id: accountId, label, ...written }, services, callId) => {
    const limits = changeLimits(noLimits, await readKnownLimits(written, services));
    const issued = await issue(services, { id: callId, accountId, label, brand: services.brand, limits });
    switch (issued.outcome) {
      case 'no_account':
        throw notFound('account', accountId);
      case 'not_active':
        throw new AppError(
          'account_not_active',
          `The account is ${issued.account.status}. Approve it first.`,
        );
      case 'too_many':
        throw new Error('an operator has no limit of keys');
      case 'issued':
        return { key: issued.key, api_key: keyView.show({ ...issued.apiKey, ...noUse }) };
    }
  },
});

export const changeKey = writeVerb({
  name: 'change_key',
  title: 'Change the limits of a key',
  description:
    'Changes the label and the limits of an API key, from its next call on: fields that are left out stay, and null ' +
    'removes a limit.',
  path: '/keys/{key_id}',
  fields: { key_id: keyIdField, label: labelField.optional(), ...limitFields },
  output: z.strictObject({ api_key: keySchema }),
  answer: 'ChangedKey',
  example: { key_id: example.id, budget_day_usd: '5.00' },
  errors: ['key_not_found', 'invalid_value'],
  command: {
    usage: `keys set <key> ${limitUsage}`,
    more: 'A budget counts the calls that are made while the key has one.',
    examples: [`${example.id} --budget-day none --models textmodel-3.5-flash`],
    table: { ...table },
  },
  handle: async ({ key_id: id, label, ...written }, services) => {
    await findKeyView(id, services);
    const limits = await readKnownLimits(written, services);
    if (!(await services.store.changeKey({ id, label, ...limits })))
      throw wrongField('invalid_value', 'key_id', 'The key is revoked. Issue a new one.');
    return { api_key: await findKeyView(id, services) };
  },
});

export const revokeKey = writeVerb({
  name: 'revoke_key',
  title: 'Revoke a key',
  description: 'Ends an API key for good: calls with it get 401 `invalid_api_key` from now on.',
  path: '/keys/{key_id}/revoke',
  fields: { key_id: idField.describe('The id of the key; the whole key is accepted too.') },
  output: z.strictObject({ api_key: keySchema }),
  answer: 'RevokedKey',
  example: { key_id: example.id },
  exampleAnswer: { api_key: { ...example, revoked_at: '2026-11-20T10:00:00.000Z' } },
  errors: ['key_not_found'],
  command: {
    usage: 'keys revoke <key>',
    more: 'This cannot be undone.',
    show: ({ api_key: { id, display, revoked_at: revokedAt } }) =>
      `${display} (${id}) is revoked since ${revokedAt ?? 'now'}.`,
  },
  logged: ({ key_id: keyOrId }) => ({ key_id: displayKeyOrId(keyOrId) }),
  handle: async ({ key_id: keyOrId }, services) => {
    const { id } = requireFound(await revoke(services, keyOrId), 'key', keyOrId);
    return { api_key: await findKeyView(id, services) };
  },
});

export const listKeys = readVerb({
  name: 'list_keys',
  title: 'List the keys of an account',
  description: 'The newest API keys of an account with their limits and use, newest first.',
  path: '/accounts/{account_id}/keys',
  fields: { account_id: accountIdField, limit: limitField(10_000, 1_000) },
  output: z.strictObject({ api_keys: z.array(keySchema), has_more: z.boolean() }),
  answer: 'KeyList',
  example: { account_id: exampleAccountId },
  errors: ['account_not_found'],
  command: {
    usage: 'keys list <account> [--limit <count>]',
    table: { ...table, none: 'The account has no keys.' },
  },
  handle: async ({ account_id: accountId, limit }, { store, clock }) => {
    requireFound(await store.getAccount(accountId), 'account', accountId);
    const found = await store.listKeys({ accountId, limit: limit + 1, before: null, now: clock.now() });
    return toPage('api_keys', found, { limit, show: keyView.show });
  },
});
