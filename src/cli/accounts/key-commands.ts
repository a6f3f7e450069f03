import type { Command } from 'commander';
import { issueKey } from '../../accounts/issue-key.ts';
import { revokeKey } from '../../accounts/revoke-key.ts';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { ApiKey } from '../../store/store.ts';
import type { CommandContext } from '../command-context.ts';
import { CommandError, notFound, requireFound } from '../command-error.ts';
import { exampleAccount, exampleId, addExamples } from '../examples.ts';
import { formatTable } from '../format-table.ts';
import { readText } from '../read-arguments.ts';

/** Adds `keys issue`, `revoke` and `list`. */
export const addKeyCommands = (program: Command, context: CommandContext): void => {
  const keys = program
    .command('keys')
    .summary('issue, revoke and list API keys')
    .description('Issues, revokes and lists the API keys of an account.');
  addExamples(keys, [
    `causeway keys issue ${exampleAccount} --label production`,
    `causeway keys list ${exampleAccount}`,
  ]);
  addIssue(keys, context);
  addRevoke(keys, context);
  addList(keys, context);
};

const addIssue = (keys: Command, context: CommandContext): void => {
  const command = keys
    .command('issue')
    .summary('issue a new API key and show it once')
    .description(
      'Issues a new API key for an active account. The key is shown only this once, as only its hash is stored. Without ' +
        '--json, the key alone goes to stdout.',
    )
    .argument('<account>', 'id of the account')
    .option('--label <label>', "the customer's name for the key", readText(100), '')
    .action((accountId: string, { label }: { label: string }) =>
      context.run(async (session) => {
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
      }),
    );
  addExamples(command, [
    `causeway keys issue ${exampleAccount}`,
    `causeway keys issue ${exampleAccount} --label production --json | jq -r .key`,
  ]);
};

const addRevoke = (keys: Command, context: CommandContext): void => {
  const command = keys
    .command('revoke')
    .summary('end a key for good')
    .description(
      'Revokes a key: calls with it fail with 401 invalid_api_key from now on. This cannot be undone. A leaked key can ' +
        'be given whole in place of its id.',
    )
    .argument('<key>', 'id of the key, as "keys list" shows it')
    .action((keyOrId: string) =>
      context.run(async (session) => {
        const apiKey = requireFound(await revokeKey(session, keyOrId), 'key', keyOrId);
        const revokedAt = requireFound(apiKey.revokedAt, 'key', keyOrId);
        return {
          json: { api_key: apiKeyJson(apiKey) },
          text: `${apiKey.display} (${apiKey.id}) is revoked since ${toIso(revokedAt)}.`,
        };
      }),
    );
  addExamples(command, [`causeway keys revoke ${exampleId}`]);
};

const addList = (keys: Command, context: CommandContext): void => {
  const command = keys
    .command('list')
    .summary('list the keys of an account')
    .description('Lists the keys of an account, oldest first, with their first and last characters.')
    .argument('<account>', 'id of the account')
    .action((accountId: string) =>
      context.run(async ({ store }) => {
        requireFound(await store.getAccount(accountId), 'account', accountId);
        const found = await store.listKeys(accountId);
        return {
          json: { api_keys: found.map(apiKeyJson) },
          text: found.length === 0 ? 'The account has no keys.' : apiKeyTable(found),
        };
      }),
    );
  addExamples(command, [
    `causeway keys list ${exampleAccount}`,
    `causeway keys list ${exampleAccount} --json`,
  ]);
};

const apiKeyJson = (key: ApiKey): JsonObject => ({
  id: key.id,
  account_id: key.accountId,
  display: key.display,
  label: key.label,
  created_at: toIso(key.createdAt),
  revoked_at: isoOrNull(key.revokedAt),
});

const apiKeyTable = (keys: readonly ApiKey[]): string =>
  formatTable(
    { 'KEY ID': 'id', KEY: 'display', CREATED: 'created_at', REVOKED: 'revoked_at', LABEL: 'label' },
    keys.map(apiKeyJson),
  );
