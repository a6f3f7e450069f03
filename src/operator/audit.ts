import { z } from 'zod';
import { isoOrNull, toIso } from '../kit/clock.ts';
import { instant } from '../operations/account/get-usage.ts';
import { time } from '../operations/answer-fields.ts';
import { idField } from '../operations/id-field.ts';
import type { AuditRow } from '../store/store.ts';
import { limitField, pageField } from './fields.ts';
import { creditAccount } from './money.ts';
import { readVerb, requireFound } from './verb.ts';
import { defineView, toPage } from './view.ts';

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
  at: [time, ({ at }) => toIso(at), '2026-11-01T08:00:00.000Z'],
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
  finished_at: [time.nullable(), ({ finishedAt }) => isoOrNull(finishedAt), '2026-11-01T08:00:00.003Z'],
});

export const listAudit = readVerb({
  name: 'list_audit',
  title: 'Read the audit log',
  description:
    'The changes of operators, over HTTP and on the command line, and refused calls, newest first.',
  group: 'audit',
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
    of: 'changes',
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
