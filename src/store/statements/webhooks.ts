import type { CommandInput } from '../commands.ts';
import { toWebhook, webhookColumns, type WebhookRow } from '../rows.ts';
import type { WebhookAttempt, WebhookAttemptInput, WebhookEvent } from '../store.ts';
import { eachOf, firstOf, type Statement } from './statement.ts';

/** Columns of a new event; both engines select the values of `newEventValues` from its job `j`. */
export const newEventColumns =
  'id, body, next_attempt_at, created_at, updated_at, account_id, job_id, url, state';

export const newEventValues = ({ id, body, now }: { id: string; body: string; now: string }): string =>
  `${id}, ${body}, ${now}, ${now}, ${now}, j.account_id, j.id, j.webhook_url, 'pending'`;

const whoWaitsLongest = (a: WebhookRow, b: WebhookRow): number =>
  Number((a.next_attempt_at ?? 0n) - (b.next_attempt_at ?? 0n)) ||
  Number(a.created_at - b.created_at) ||
  (a.id < b.id ? -1 : 1);

/** Only a pending event has a next attempt; by its state SQLite would look for it in another index and then sort. */
export const claimWebhooks: Statement<CommandInput<'claimWebhooks'>, WebhookRow, WebhookEvent[]> = {
  name: 'claim_webhooks',
  text: ({ lockFreeRows }) => `with due as (
      select id from webhook_events
      where next_attempt_at <= $4 and (lease_until is null or lease_until <= $4)
      order by next_attempt_at, created_at, id limit $3 ${lockFreeRows}
    )
    update webhook_events set lease_owner = $1, lease_until = $2 where id in (select id from due)
    returning ${webhookColumns}`,
  values: ({ owner, leaseUntil, limit, now }) => [owner, leaseUntil, limit, now],
  read: (rows) => rows.sort(whoWaitsLongest).map(toWebhook),
};

/** The first half of `recordWebhookAttempt`: the number of the attempt in the log, or null when the lease was lost. */
export const moveWebhook: Statement<WebhookAttemptInput, { number: bigint }, bigint | null> = {
  name: 'move_webhook',
  text: () => `update webhook_events set state = $3, next_attempt_at = $4, updated_at = $5,
      attempts = attempts + 1, attempts_logged = attempts_logged + 1, lease_owner = null, lease_until = null
    where id = $1 and lease_owner = $2 returning attempts_logged as number`,
  values: ({ eventId, owner, state, nextAttemptAt, attempt }) => [
    eventId,
    owner,
    state,
    nextAttemptAt,
    attempt.at + attempt.durationMs,
  ],
  read: firstOf(({ number }: { number: bigint }) => number),
};

/** The second half. */
export const logWebhookAttempt: Statement<WebhookAttempt & { number: bigint }, never, void> = {
  name: 'log_webhook_attempt',
  text: () => `insert into webhook_attempts (event_id, number, at, duration_ms, http_status, failure)
    values ($1, $2, $3, $4, $5, $6)`,
  values: ({ eventId, number, at, durationMs, httpStatus, failure }) => [
    eventId,
    number,
    at,
    durationMs,
    httpStatus,
    failure,
  ],
  read: () => {},
};

export const getWebhook: Statement<string, WebhookRow, WebhookEvent | null> = {
  name: 'get_webhook',
  text: () => `select ${webhookColumns} from webhook_events where id = $1`,
  values: (id) => [id],
  read: firstOf(toWebhook),
};

interface AttemptRow {
  event_id: string;
  at: bigint;
  duration_ms: bigint;
  http_status: bigint | null;
  failure: string | null;
}

const toAttempt = (row: AttemptRow): WebhookAttempt => ({
  eventId: row.event_id,
  at: Number(row.at),
  durationMs: Number(row.duration_ms),
  httpStatus: row.http_status === null ? null : Number(row.http_status),
  failure: row.failure,
});

export const listWebhookAttempts: Statement<string, AttemptRow, WebhookAttempt[]> = {
  name: 'list_webhook_attempts',
  text: () => `select event_id, at, duration_ms, http_status, failure from webhook_attempts
    where event_id = $1 order by number`,
  values: (eventId) => [eventId],
  read: eachOf(toAttempt),
};

export const redeliverWebhook: Statement<
  CommandInput<'redeliverWebhook'>,
  WebhookRow,
  WebhookEvent | null
> = {
  name: 'redeliver_webhook',
  text: () => `update webhook_events set state = 'pending', attempts = 0, next_attempt_at = $2, updated_at = $2,
      lease_owner = null, lease_until = null
    where id = $1 returning ${webhookColumns}`,
  values: ({ eventId, now }) => [eventId, now],
  read: firstOf(toWebhook),
};
