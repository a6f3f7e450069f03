import { logWebhookAttempt, moveWebhook } from '../statements/webhooks.ts';
import type { WebhookAttemptInput } from '../store.ts';
import type { Pool } from './connection.ts';
import { inTransaction, prepare } from './sql.ts';

const move = prepare(moveWebhook);
const log = prepare(logWebhookAttempt);

export const recordWebhookAttemptCommand =
  (pool: Pool) =>
  (input: WebhookAttemptInput): Promise<boolean> =>
    inTransaction(pool, async (sql) => {
      const number = await move(sql, input);
      if (number === null) return false;
      await log(sql, { ...input.attempt, eventId: input.eventId, number });
      return true;
    });
