import { z } from 'zod';
import { toIso } from '../../kit/clock.ts';
import { time } from '../../operations/answer-fields.ts';
import { rotateWebhookSecret as rotate } from '../../webhooks/rotate-webhook-secret.ts';
import { accountIdField } from '../fields.ts';
import { operatorWrite } from '../operator-operation.ts';
import { requireFound } from '../require-found.ts';
import { exampleWebhook } from './webhook-view.ts';

const { account_id: exampleId } = exampleWebhook;

export const rotateWebhookSecret = operatorWrite({
  name: 'rotate_webhook_secret',
  title: 'Give an account a new signing secret',
  description:
    'Gives an account a new secret that signs its webhooks. The customer reads it at GET /v1/balance; it is not shown ' +
    'here. For 24 hours the previous secret signs too. A second rotation within that time ends the oldest secret.',
  group: 'webhooks',
  path: '/accounts/{account_id}/rotate-webhook-secret',
  fields: { account_id: accountIdField },
  output: z.strictObject({
    account_id: z.string(),
    previous_signs_until: time.nullable().describe('Null: there was no secret before.'),
  }),
  answer: 'RotatedSecret',
  example: {
    input: { account_id: exampleId },
    answer: { account_id: exampleId, previous_signs_until: '2026-11-21T09:30:00.000Z' },
  },
  errors: ['account_not_found'],
  handle: async ({ account_id: accountId }, services) => {
    const { previous } = requireFound(await rotate(services, accountId), 'account', accountId);
    return {
      account_id: accountId,
      previous_signs_until: previous === null ? null : toIso(previous.until),
    };
  },
});
