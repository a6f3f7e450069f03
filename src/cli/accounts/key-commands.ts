import type { Command } from 'commander';
import { issueKey } from '../../accounts/issue-key.ts';
import { revokeKey } from '../../accounts/revoke-key.ts';
import { toIso } from '../../kit/clock.ts';
import type { CommandContext } from '../command-context.ts';
import { CommandError } from '../command-error.ts';
import { addExamples, exampleAccount, exampleId } from '../examples.ts';
import { readText } from '../read-text.ts';
import { noAccount, noKey } from '../refusals.ts';
import { apiKeyJson, apiKeyTable } from '../views.ts';

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
  const issue = keys
    .command('issue')
    .summary('make a new API key and show it once')
    .description(
      'Makes a new API key for an active account. The key is shown this once and never again: only its hash is stored. ' +
        'Without --json, the key alone goes to stdout.',
    )
    .argument('<account>', 'id of the account')
    .option('--label <label>', 'what the customer calls the key', readText(100), '')
    .action((accountId: string, { label }: { label: string }) =>
      context.run(async (session) => {
        const issued = await issueKey(session, { accountId, label, brand: session.brand });
        if (issued.outcome === 'no_account') throw noAccount(accountId);
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
  addExamples(issue, [
    `causeway keys issue ${exampleAccount}`,
    `causeway keys issue ${exampleAccount} --label production --json | jq -r .key`,
  ]);
};

const addRevoke = (keys: Command, context: CommandContext): void => {
  const revoke = keys
    .command('revoke')
    .summary('end a key for good')
    .description(
      'Makes a key answer 401 invalid_api_key from now on; that cannot be undone. A leaked key can be given whole ' +
        'in place of its id.',
    )
    .argument('<key>', 'id of the key, as "keys list" shows it')
    .action((keyOrId: string) =>
      context.run(async (session) => {
        const apiKey = await revokeKey(session, keyOrId);
        const revokedAt = apiKey?.revokedAt ?? null;
        if (apiKey === null || revokedAt === null) throw noKey(keyOrId);
        return {
          json: { api_key: apiKeyJson(apiKey) },
          text: `${apiKey.display} (${apiKey.id}) is revoked since ${toIso(revokedAt)}.`,
        };
      }),
    );
  addExamples(revoke, [`causeway keys revoke ${exampleId}`]);
};

const addList = (keys: Command, context: CommandContext): void => {
  const list = keys
    .command('list')
    .summary('list the keys of an account')
    .description('Lists the keys of an account, oldest first, with their first and last characters.')
    .argument('<account>', 'id of the account')
    .action((accountId: string) =>
      context.run(async ({ store }) => {
        if ((await store.getAccount(accountId)) === null) throw noAccount(accountId);
        const found = await store.listKeys(accountId);
        return {
          json: { api_keys: found.map(apiKeyJson) },
          text: found.length === 0 ? 'The account has no keys.' : apiKeyTable(found),
        };
      }),
    );
  addExamples(list, [`causeway keys list ${exampleAccount}`, `causeway keys list ${exampleAccount} --json`]);
};
