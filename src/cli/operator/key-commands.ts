import { Argument, Option } from 'commander';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { instant } from '../../operations/account/get-usage.ts';
import { issueOperatorKey, revokeOperatorKey } from '../../operator/operator-keys.ts';
import { audited } from '../../operator/run-operation.ts';
import type { OperatorKey, OperatorRole } from '../../store/store.ts';
import type { CommandDefinition, CommandGroup } from '../command-definition.ts';
import { CommandError } from '../command-error.ts';
import { exampleId } from '../examples.ts';
import { formatTable } from '../format-table.ts';
import { readField, readText } from '../read-arguments.ts';

const keyJson = (key: OperatorKey): JsonObject => ({
  id: key.id,
  display: key.display,
  label: key.label,
  role: key.role,
  created_at: toIso(key.createdAt),
  expires_at: isoOrNull(key.expiresAt),
  revoked_at: isoOrNull(key.revokedAt),
});

const issue: CommandDefinition<[{ label: string; role: OperatorRole; expires?: number }]> = {
  name: 'issue',
  summary: "issue a key for the operator's API and show it once",
  description:
    "Issues a key for the operator's API, below /admin/v1. The role read looks at everything, write changes it, too. The " +
    'key is shown only this once, as only its hash is stored. Without --json, the key alone goes to stdout.',
  examples: [
    'causeway operator-keys issue --label console --role read',
    'causeway operator-keys issue --label billing --role write --expires 2027-01-31',
  ],
  options: [
    new Option('--label <label>', 'your name for the key, which the audit log shows (required)')
      .argParser(readText(100))
      .makeOptionMandatory(),
    new Option('--role <role>', 'what it may do (required)').choices(['read', 'write']).makeOptionMandatory(),
    new Option('--expires <time>', 'its end: a date, or a date-time with its zone; default: never').argParser(
      readField(instant),
    ),
  ],
  run: async (session, { label, role, expires }) => {
    const expiresAt = expires ?? null;
    if (expiresAt !== null && expiresAt <= session.clock.now())
      throw new CommandError('invalid_usage', '--expires: it is not in the future.');
    const input = { label, role, expires_at: isoOrNull(expiresAt) };
    const { key, operatorKey } = await audited(
      { operation: 'issue_operator_key', input },
      session.caller,
      session,
      (id) => issueOperatorKey(session, { id, label, role, expiresAt }),
    );
    return {
      json: { key, operator_key: keyJson(operatorKey) },
      text: key,
      remark: `Operator key ${operatorKey.id}, role ${role}. Keep it safe: it is not shown again.`,
    };
  },
};

const revoke: CommandDefinition<[string]> = {
  name: 'revoke',
  summary: 'end an operator key for good',
  description:
    'Revokes an operator key: calls with it fail with 401 invalid_api_key from now on. This cannot be undone. A leaked ' +
    'key can be given whole in place of its id.',
  examples: [`causeway operator-keys revoke ${exampleId}`],
  arguments: [new Argument('<key>', 'id of the key, as "operator-keys list" shows it')],
  run: async (session, keyOrId) => {
    const revoked = await audited(
      { operation: 'revoke_operator_key', input: { key_id: keyOrId } },
      session.caller,
      session,
      () => revokeOperatorKey(session, keyOrId),
    );
    return {
      json: { operator_key: keyJson(revoked) },
      text: `${revoked.display} (${revoked.id}) is revoked.`,
    };
  },
};

const columns = {
  'KEY ID': 'id',
  KEY: 'display',
  ROLE: 'role',
  CREATED: 'created_at',
  EXPIRES: 'expires_at',
  REVOKED: 'revoked_at',
  LABEL: 'label',
};

const list: CommandDefinition<[]> = {
  name: 'list',
  summary: 'list the operator keys',
  description: 'Lists the operator keys, oldest first, with their first and last characters.',
  examples: ['causeway operator-keys list', 'causeway operator-keys list --json'],
  run: async ({ store }) => {
    const keys = (await store.listOperatorKeys(undefined)).map(keyJson);
    return {
      json: { operator_keys: keys },
      text: keys.length === 0 ? 'There are no operator keys.' : formatTable(columns, keys),
    };
  },
};

export const operatorKeyCommands: CommandGroup = {
  name: 'operator-keys',
  summary: "issue, revoke and list keys for the operator's API",
  description: "Issues, revokes and lists the keys of the operator's API, below /admin/v1.",
  commands: [issue, revoke, list],
};
