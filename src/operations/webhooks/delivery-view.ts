import { z } from 'zod';
import type { OutboundFailure } from '../../http/outbound.ts';
import { webhookEvents, webhookStates } from '../../store/commands/webhook-names.ts';
import type { WebhookDelivery } from '../../store/store.ts';
import { count, timeOf, timeOrNullOf } from '../answer-fields.ts';
import { imageJobId } from '../images/image-examples.ts';
import { defineView, extensible } from '../view.ts';

export const webhookState = z.enum(webhookStates);

/** The members that customers and operators see alike. */
export const eventView = defineView<Omit<WebhookDelivery, 'event' | 'httpStatus' | 'failure'>, unknown>({
  job_id: 'Null: it tells of no job.',
  attempts: 'Since the event was made, or was last sent again.',
})({
  event_id: [z.string(), 'id', '7c1d8f52-94a6-4a0e-8f3b-6f1f8a5e2b90'],
  job_id: [z.string().nullable(), 'jobId', imageJobId],
  state: [webhookState, 'state', 'pending'],
  attempts: [count, 'attempts', 1],
  next_attempt_at: timeOrNullOf('nextAttemptAt', '2026-11-20T09:30:12.000Z'),
  created_at: timeOf('createdAt', '2026-11-20T09:30:06.412Z'),
  updated_at: timeOf('updatedAt', '2026-11-20T09:30:07.020Z'),
});

/** A webhook as its account sees it. */
export const deliveryView = extensible(
  defineView<WebhookDelivery, unknown>({
    target: 'Where the address of the receiver begins.',
    last_status: 'The HTTP status of the last attempt. Null: there was no answer, or no attempt.',
    last_error: 'Why the last attempt failed. Null: it did not, or there was none.',
  })({
    event: [z.enum(webhookEvents), 'event', 'job.finished'],
    ...eventView.members,
    target: [z.string(), ({ url }) => URL.parse(url)?.origin ?? '', 'https://shop.example'],
    last_status: [z.int().nullable(), 'httpStatus', 503],
    last_error: [z.string().nullable(), (delivery) => lastError(delivery), 'The receiver answered 503.'],
  }),
);

const noPublicHost = 'The host has no public address.';

const failureTexts: Partial<Record<OutboundFailure, string>> = {
  // One text, because these tell which names a private network has.
  loopback: noPublicHost,
  not_public: noPublicHost,
  unresolved: noPublicHost,
  unreachable: 'The host does not accept a connection.',
  bad_certificate: 'The certificate of the host is not to be trusted.',
  timeout: 'The receiver did not answer in time.',
  broken_off: 'The connection ended before the answer.',
};

const lastError = ({ failure, httpStatus }: WebhookDelivery): string | null => {
  if (failure === null) return null;
  if (httpStatus !== null) return `The receiver answered ${httpStatus}.`;
  const texts: Readonly<Record<string, string>> = failureTexts;
  return texts[failure] ?? 'The event could not be sent.';
};
