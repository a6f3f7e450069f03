import { z } from 'zod';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import { instant } from '../../operations/account/get-usage.ts';
import { time } from '../../operations/answer-fields.ts';
import type { AuditRow } from '../../store/store.ts';
import { idField } from '../../operations/id-field.ts';
import { limitField } from '../fields.ts';
import { operatorRead } from '../operator-operation.ts';
import { requireFound } from '../require-found.ts';

const change = z.strictObject({
  id: z.string().describe('Also the id of the one thing that the change made, such as a ledger entry.'),
  at: time,
  actor: z
    .string()
    .describe('`key:<id>`, `cli:<user>`, or `address:<address>` of a caller without a valid key.'),
  actor_label: z.string().nullable().describe('The label of the operator key.'),
  operation: z.string(),
  input: z
    .record(z.string(), z.json())
    .describe('As it was sent, with keys masked; empty for a refused call.'),
  outcome: z
    .enum(['started', 'done', 'failed'])
    .describe('`started`: it has not ended, or its end is unknown because the process ended before.'),
  error: z.string().nullable().describe('The code of the error of a failed change or a refused call.'),
  request_id: z.string().nullable().describe('The X-Request-Id of the answer.'),
  finished_at: time.nullable(),
});

const toChange = (row: AuditRow): z.output<typeof change> => ({
  id: row.id,
  at: toIso(row.at),
  actor: row.actor,
  actor_label: row.actorLabel,
  operation: row.operation,
  input: row.input,
  outcome: row.outcome ?? 'started',
  error: row.error,
  request_id: row.requestId,
  finished_at: isoOrNull(row.finishedAt),
});

export const listAudit = operatorRead({
  name: 'list_audit',
  title: 'Read the audit log',
  description:
    'The changes of operators, over HTTP and on the command line, and refused calls, newest first.',
  group: 'audit',
  path: '/audit',
  fields: {
    actor: idField.optional().describe('Only those of this actor.'),
    operation: idField.optional().describe('Only those of this operation, such as credit_account.'),
    since: instant.optional().describe('Only those at or after this time.'),
    limit: limitField(1_000, 100),
    after: idField.optional().describe('The id of the last change of the page before.'),
  },
  output: z.strictObject({ changes: z.array(change), has_more: z.boolean() }),
  answer: 'AuditPage',
  example: {
    input: { operation: 'credit_account', limit: 100 },
    answer: {
      changes: [
        {
          id: '7c1d8f52-94a6-4a0e-8f3b-6f1f8a5e2b90',
          at: '2026-11-01T08:00:00.000Z',
          actor: 'key:01a205f9-5d63-7d30-8360-08c2e8a8c294',
          actor_label: 'billing',
          operation: 'credit_account',
          input: {
            account_id: '0b9f3c1e-5d0a-4c59-9a61-2f6f0f5f7d11',
            amount_usd: '25.00',
            reason: 'Invoice 2041',
          },
          outcome: 'done',
          error: null,
          request_id: 'req_351c6404-6843-43c3-944a-064ff31d7eda',
          finished_at: '2026-11-01T08:00:00.003Z',
        },
      ],
      has_more: false,
    },
  },
  errors: ['audit_not_found'],
  handle: async ({ after: afterId, limit, ...filter }, { store }) => {
    if (afterId !== undefined) requireFound(await store.getAudit(afterId), 'audit', afterId);
    const found = await store.listAudit({ ...filter, afterId, limit: limit + 1 });
    return { changes: found.slice(0, limit).map(toChange), has_more: found.length > limit };
  },
});
