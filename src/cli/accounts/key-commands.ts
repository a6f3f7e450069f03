import { Argument, Option } from 'commander';
import { issueKey } from '../../accounts/issue-key.ts';
import { revokeKey } from '../../accounts/revoke-key.ts';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { ApiKey } from '../../store/store.ts';
import { accountArgument, type CommandDefinition, type CommandGroup } from '../command-definition.ts';
import { CommandError, notFound, requireFound } from '../command-error.ts';
import { exampleAccount, exampleId } from '../examples.ts';
import { formatTable } from '../format-table.ts';
import { readText } from '../read-arguments.ts';

const apiKeyJson = (key: ApiKey): JsonObject => ({
  id: key.id,
  account_id: key.accountId,
  display: key.display,
  label: key.label,
  created_at: toIso(key.createdAt),
  revoked_at: isoOrNull(key.revokedAt),
});

const columns = {
  'KEY ID': 'id',
  KEY: 'display',
  CREATED: 'created_at',
  REVOKED: 'revoked_at',
  LABEL: 'label',
};

const issue: CommandDefinition<[string, { label: string }]> = {
  name: 'issue',
  summary: 'issue a new API key and show it once',
  description:
    'Issues a new API key for an active account. The key is shown only this once, as only its hash is stored. Without ' +
    '--json, the key alone goes to stdout.',
  examples: [
    `causeway keys issue ${exampleAccount}`,
    `causeway keys issue ${exampleAccount} --label production --json | jq -r .key`,
  ],
  arguments: [accountArgument],
  options: [
    new Option('--label <label>', "the customer's name for the key").argParser(readText(100)).default(''),
  ],
  run: async (session, accountId, { label }) => {
    const issued = await issueKey(session, { accountId, label, brand: session.brand });
    if (issued.outcome === 'no_account') throw notFound('account', accountId);
    if (issued.outcome === 'not_active')
      throw new CommandError(
        'account_not_active',
        `The account is ${issued.account.status}. Approve it first: causeway accounts approve ${accountId}`,
      );
    const { key, apiKey, account } = issued;
    return {
      json: { key, api_key: apiKeyJson(apiKey) },
      text: key,
      remark: `Key ${apiKey.id} of ${account.name}. Keep it safe: it is not shown again.`,
    };
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
  run: async (session, keyOrId) => {
    const apiKey = requireFound(await revokeKey(session, keyOrId), 'key', keyOrId);
    const revokedAt = requireFound(apiKey.revokedAt, 'key', keyOrId);
    return {
      json: { api_key: apiKeyJson(apiKey) },
      text: `${apiKey.display} (${apiKey.id}) is revoked since ${toIso(revokedAt)}.`,
    };
  },
};

const list: CommandDefinition<[string]> = {
  name: 'list',
  summary: 'list the keys of an account',
  description: 'Lists the keys of an account, oldest first, with their first and last characters.',
  examples: [`causeway keys list ${exampleAccount}`, `causeway keys list ${exampleAccount} --json`],
  arguments: [accountArgument],
  run: async ({ store }, accountId) => {
    requireFound(await store.getAccount(accountId), 'account', accountId);
    const keys = (await store.listKeys(accountId)).map(apiKeyJson);
    return {
      json: { api_keys: keys },
      text: keys.length === 0 ? 'The account has no keys.' : formatTable(columns, keys),
    };
  },
};

export const keyCommands: CommandGroup = {
  name: 'keys',
  summary: 'issue, revoke and list API keys',
  description: 'Issues, revokes and lists the API keys of an account.',
  commands: [issue, revoke, list],
};
