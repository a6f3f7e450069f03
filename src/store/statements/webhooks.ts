import type { CommandInput } from '../commands.ts';
import { toWebhook, webhookColumns, type WebhookRow } from '../rows.ts';
import type { DueWebhook, WebhookAttempt, WebhookAttemptInput, WebhookEvent } from '../store.ts';
import { eachOf, firstOf, type Statement } from './statement.ts';

/** Columns of a new event. Both engines select `newEventValues` from its job `j`. */
export const newEventColumns =
  'id, body, next_attempt_at, created_at, updated_at, account_id, job_id, url, state';

export const newEventValues = ({ id, body, now }: { id: string; body: string; now: string }): string =>
  `${id}, ${body}, ${now}, ${now}, ${now}, j.account_id, j.id, j.webhook_url, 'pending'`;

/** True if nobody sends the event now. Statements also compare its next attempt, to use the index on pending events. */
const isFree = (now: string): string => `(lease_until is null or lease_until <= ${now})`;

/**
 * Goes from receiver to receiver by the index and takes the head of each queue, so a long queue costs no more than a
 * short one.
 */
export const listDueWebhooks: Statement<number, DueWebhookRow, DueWebhook[]> = {
  name: 'list_due_webhooks',
  text: () => `with recursive receivers (receiver) as (
      select min(receiver) from webhook_events where next_attempt_at is not null
      union all
      select (
        select min(e.receiver) from webhook_events e
        where e.next_attempt_at is not null and e.receiver > receivers.receiver
      ) from receivers where receivers.receiver is not null
    ), heads (id) as (
      select (
        select e.id from webhook_events e
        where e.receiver = receivers.receiver and e.next_attempt_at <= $1 and ${isFree('$1')}
        order by e.next_attempt_at, e.created_at, e.id limit 1
      ) from receivers
    )
    select e.id, e.account_id, e.url from heads join webhook_events e on e.id = heads.id
    order by e.next_attempt_at, e.created_at, e.id`,
  values: (now) => [now],
  read: eachOf(({ id, account_id: accountId, url }: DueWebhookRow) => ({ id, accountId, url })),
};

type DueWebhookRow = Pick<WebhookRow, 'id' | 'account_id' | 'url'>;

export const claimWebhooks: Statement<CommandInput<'claimWebhooks'>, WebhookRow, WebhookEvent[]> = {
  name: 'claim_webhooks',
  text: ({ isOneOf, lockFreeRows }) => `with due as (
      select id from webhook_events
      where ${isOneOf('id', '$3')} and next_attempt_at <= $4 and ${isFree('$4')} ${lockFreeRows}
    )
    update webhook_events set lease_owner = $1, lease_until = $2 where id in (select id from due)
    returning ${webhookColumns}`,
  values: ({ owner, leaseUntil, ids, now }) => [owner, leaseUntil, JSON.stringify(ids), now],
  read: eachOf(toWebhook),
};

/** The first half of `recordWebhookAttempt`. Returns the attempt's number in the log, or null if the lease was lost. */
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
