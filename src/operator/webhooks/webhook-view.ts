import { z } from 'zod';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import { count, time } from '../../operations/answer-fields.ts';
import type { WebhookAttempt, WebhookEvent, WebhookState } from '../../store/store.ts';

export const webhookStates = [
  'pending',
  'delivered',
  'stopped',
  'exhausted',
] as const satisfies readonly WebhookState[];

export const webhookSchema = z.strictObject({
  event_id: z.string(),
  account_id: z.string(),
  job_id: z.string(),
  url: z.string(),
  state: z.enum(webhookStates),
  attempts: count.describe('Since the end of the job, or since it was last sent again.'),
  next_attempt_at: time.nullable(),
  created_at: time,
  updated_at: time,
});

export type WebhookView = z.output<typeof webhookSchema>;

export const toWebhookView = (webhook: WebhookEvent): WebhookView => ({
  event_id: webhook.id,
  account_id: webhook.accountId,
  job_id: webhook.jobId,
  url: webhook.url,
  state: webhook.state,
  attempts: webhook.attempts,
  next_attempt_at: isoOrNull(webhook.nextAttemptAt),
  created_at: toIso(webhook.createdAt),
  updated_at: toIso(webhook.updatedAt),
});

export const attemptSchema = z.strictObject({
  at: time,
  duration_ms: count,
  http_status: z.int().nullable(),
  failure: z.string().nullable(),
});

export const toAttemptView = (attempt: WebhookAttempt): z.output<typeof attemptSchema> => ({
  at: toIso(attempt.at),
  duration_ms: attempt.durationMs,
  http_status: attempt.httpStatus,
  failure: attempt.failure,
});

/** For examples. */
export const exampleWebhook: WebhookView = {
  event_id: '7c1d8f52-94a6-4a0e-8f3b-6f1f8a5e2b90',
  account_id: '0b9f3c1e-5d0a-4c59-9a61-2f6f0f5f7d11',
  job_id: '0d9e8f7a-6b5c-4d3e-9f2a-1b0c9d8e7f6a',
  url: 'https://shop.example/hooks/images',
  state: 'pending',
  attempts: 1,
  next_attempt_at: '2026-11-20T09:30:12.000Z',
  created_at: '2026-11-20T09:30:06.412Z',
  updated_at: '2026-11-20T09:30:07.020Z',
};
