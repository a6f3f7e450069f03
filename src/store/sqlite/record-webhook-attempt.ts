import type { DatabaseSync } from 'node:sqlite';
import { logWebhookAttempt, moveWebhook } from '../statements/webhooks.ts';
import type { WebhookAttemptInput } from '../store.ts';
import { prepare } from './prepare.ts';

export const recordWebhookAttemptCommand = (
  database: DatabaseSync,
): ((input: WebhookAttemptInput) => boolean) => {
  const move = prepare(database, moveWebhook);
  const log = prepare(database, logWebhookAttempt);
  return (input) => {
    const number = move(input);
    if (number === null) return false;
    log({ ...input.attempt, eventId: input.eventId, number });
    return true;
  };
};
