import { z } from 'zod';
import { wrongField } from '../kit/errors.ts';
import { newOperatorKey, sha256 } from '../kit/ids.ts';
import { instant } from '../operations/account/get-usage.ts';
import { timeOf, timeOrNullOf } from '../operations/answer-fields.ts';
import { idField } from '../operations/id-field.ts';
import type { OperatorKey, AuditRow } from '../store/store.ts';
import { lineField, limitField, pageField } from './fields.ts';
import { type OperatorServices, requireFound, readVerb, writeVerb, type Verb } from './verb.ts';
import { defineView, toPage } from '../operations/view.ts';
import { displayKey, displayKeyOrId } from '../accounts/keys.ts';
import { creditAccount } from './money.ts';

const roleSchema = z.enum(['read', 'write']);

const keyView = defineView<OperatorKey>()({
  id: [z.string(), 'id', '7c1d8f52-94a6-4a0e-8f3b-6f1f8a5e2b90'],
  display: [z.string(), 'display', 'op_causeway_AbCd…wxyz'],
  label: [z.string(), 'label', 'console'],
  role: [roleSchema, 'role', 'read'],
  created_at: timeOf('createdAt', '2026-11-01T08:00:00.000Z'),
  expires_at: timeOrNullOf('expiresAt', null),
  revoked_at: timeOrNullOf('revokedAt', null),
});

/** Makes an operator key. It is shown only now, as only its hash is stored. `expiresAt`: null for never. */
export const issueOperatorKey = async (
  { store, clock, brand }: OperatorServices,
  { id, label, role, expiresAt }: Pick<OperatorKey, 'id' | 'label' | 'role' | 'expiresAt'>,
): Promise<{ key: string; operatorKey: OperatorKey }> => {
  const key = newOperatorKey(brand);
  const stored = { id, hash: sha256(key), display: displayKey(key), now: clock.now() };
  return { key, operatorKey: await store.createOperatorKey({ ...stored, label, role, expiresAt }) };
};

const path = '/operator-keys';

export const issueOperator = writeVerb({
  path,
  name: 'issue_operator_key',
  title: "Issue a key for the operator's API",
  description:
    "Issues a key for the operator's API, below /admin/v1. The role read looks at everything, write changes it, too. The " +
    'key is shown only this once, as only its hash is stored.',
  fields: {
    label: lineField(100).describe('Your name for the key, which the audit log shows.'),
    role: roleSchema.describe('What it may do.'),
    expires_at: instant.optional().describe('Its end. Default: never.'),
  },
  output: z.strictObject({ key: z.string(), operator_key: keyView.schema }),
  answer: 'IssuedOperatorKey',
  example: { label: 'console', role: 'read' },
  exampleAnswer: { key: 'op_causeway_…' },
  command: {
    usage: 'operator-keys issue --label <label> --role <role> [--expires <time>]',
    more: 'Without --json, the key alone goes to stdout.',
    examples: ['--label billing --role write --expires 2027-01-31'],
    show: ({ key, operator_key: { id, role } }) => ({
      text: key,
      remark: `Operator key ${id}, role ${role}. Keep it safe: it is not shown again.`,
    }),
  },
  handle: async ({ label, role, expires_at: expiresAt = null }, services, id) => {
    if (expiresAt !== null && expiresAt <= services.clock.now())
      throw wrongField('invalid_parameter', 'expires_at', 'expires_at: it is not in the future.');
    const { key, operatorKey } = await issueOperatorKey(services, { id, label, role, expiresAt });
    return { key, operator_key: keyView.show(operatorKey) };
  },
});

export const revokeOperator = writeVerb({
  path,
  name: 'revoke_operator_key',
  title: 'Revoke an operator key',
  description: 'Ends an operator key for good: calls with it get 401 `invalid_api_key` from now on.',
  fields: { key_id: idField.describe('The id of the key; the whole key is accepted too.') },
  output: z.strictObject({ operator_key: keyView.schema }),
  answer: 'RevokedOperatorKey',
  example: { key_id: keyView.example.id },
  command: {
    usage: 'operator-keys revoke <key>',
    more: 'This cannot be undone.',
    show: ({ operator_key: { id, display } }) => `${display} (${id}) is revoked.`,
  },
  logged: ({ key_id: keyOrId }) => ({ key_id: displayKeyOrId(keyOrId) }),
  handle: async ({ key_id: keyOrId }, { store, clock }) => {
    const found = await store.findOperatorKey(sha256(keyOrId));
    const revoked = await store.revokeOperatorKey({ id: found?.id ?? keyOrId, now: clock.now() });
    return { operator_key: keyView.show(requireFound(revoked, 'key', keyOrId)) };
  },
});

const list = readVerb({
  path,
  name: 'list_operator_keys',
  title: 'List the operator keys',
  description: 'The operator keys, oldest first, with their first and last characters.',
  fields: {},
  output: z.strictObject({ operator_keys: z.array(keyView.schema) }),
  answer: 'OperatorKeyList',
  command: {
    usage: 'operator-keys list',
    table: {
      columns: 'id=KEY_ID display=KEY role created_at expires_at revoked_at label',
      none: 'There are no operator keys.',
    },
  },
  handle: async (_input, { store }) => {
    const keys = await store.listOperatorKeys(undefined);
    return { operator_keys: keys.map((key) => keyView.show(key)) };
  },
});

/** Only the command line has these: who holds an operator key cannot make others with it. */
export const operatorKeyVerbs: readonly Verb[] = [issueOperator, revokeOperator, list];

const changeView = defineView<AuditRow>({
  id: 'Also the id of the one thing that the change made, such as a ledger entry.',
  actor: '`key:<id>`, `cli:<user>`, or `address:<address>` of a caller without a valid key.',
  actor_label: 'The label of the operator key.',
  input: 'As it was sent, with keys masked; empty for a refused call.',
  outcome: '`started`: it has not ended, or its end is unknown because the process ended before.',
  error: 'The code of the error of a failed change or a refused call.',
  request_id: 'The X-Request-Id of the answer.',
})({
  id: [z.string(), 'id', '7c1d8f52-94a6-4a0e-8f3b-6f1f8a5e2b90'],
  at: timeOf('at', '2026-11-01T08:00:00.000Z'),
  actor: [z.string(), 'actor', 'key:01a205f9-5d63-7d30-8360-08c2e8a8c294'],
  actor_label: [z.string().nullable(), 'actorLabel', 'billing'],
  operation: [z.string(), 'operation', creditAccount.name],
  input: [
    z.record(z.string(), z.json()),
    'input',
    { account_id: '0b9f3c1e-5d0a-4c59-9a61-2f6f0f5f7d11', amount_usd: '25.00', reason: 'Invoice 2041' },
  ],
  outcome: [z.enum(['started', 'done', 'failed']), ({ outcome }) => outcome ?? 'started', 'done'],
  error: [z.string().nullable(), 'error', null],
  request_id: [z.string().nullable(), 'requestId', 'req_351c6404-6843-43c3-944a-064ff31d7eda'],
  finished_at: timeOrNullOf('finishedAt', '2026-11-01T08:00:00.003Z'),
});

export const listAudit = readVerb({
  name: 'list_audit',
  title: 'Read the audit log',
  description:
    'The changes of operators, over HTTP and on the command line, and refused calls, newest first.',
  path: '/audit',
  fields: {
    actor: idField.optional().describe('Only those of this actor, such as key:<id> or cli:<user>.'),
    operation: idField.optional().describe('Only those of this operation, such as credit_account.'),
    since: instant.optional().describe('Only those at or after this time.'),
    limit: limitField(1_000, 100),
    after: pageField('change'),
  },
  output: z.strictObject({ changes: z.array(changeView.schema), has_more: z.boolean() }),
  answer: 'AuditPage',
  example: { operation: creditAccount.name, limit: 100 },
  errors: ['audit_not_found'],
  command: {
    usage:
      'audit list [--actor <actor>] [--operation <name>] [--since <time>] [--limit <count>] [--after <change>]',
    more: 'OUTCOME is "started" for a change that has not ended, or whose process ended before.',
    examples: [
      `--since 2026-11-01 --actor key:${changeView.example.id} --json | jq -r '.changes[].operation'`,
    ],
    table: {
      columns: 'at actor actor_label=LABEL operation outcome error input',
      none: 'There are no such changes.',
    },
  },
  handle: async ({ after: afterId, limit, ...filter }, { store }) => {
    if (afterId !== undefined) requireFound(await store.getAudit(afterId), 'audit', afterId);
    const found = await store.listAudit({ ...filter, afterId, limit: limit + 1 });
    return toPage('changes', found, { limit, show: changeView.show });
  },
});
