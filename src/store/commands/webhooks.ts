import { columns, int64, integer, orNull, pick, text, time, type RowOf } from '../columns.ts';
import { read, readBy, readSteps, run, write, writeTransaction } from '../command.ts';
import { eachOf, firstOf, statement, valuesOf, type Dialect } from '../statement.ts';

/** pending: to be sent. delivered: acknowledged. stopped: the receiver answered 410. exhausted: no attempts left. */
export type WebhookState = 'pending' | 'delivered' | 'stopped' | 'exhausted';

const eventFields = {
  /** `event_id` of the body and `webhook-id` of every delivery. */
  id: text(),
  accountId: text(),
  jobId: text(),
  url: text(),
  /** The exact text that every attempt sends. */
  body: text(),
  state: text<WebhookState>(),
  /** Count since the event was made or last redelivered. */
  attempts: integer(),
  /** Null unless the event is pending. */
  nextAttemptAt: orNull(time()),
  createdAt: time(),
  updatedAt: time(),
};
export type WebhookEvent = RowOf<typeof eventFields>;
const events = columns(eventFields);

const dueFields = pick(eventFields, 'id', 'accountId', 'url');
export type DueWebhook = RowOf<typeof dueFields>;
const dueEvents = columns(dueFields);

const attemptFields = {
  eventId: text(),
  at: time(),
  durationMs: integer(),
  /** Null if no answer came. */
  httpStatus: orNull(integer()),
  /** A short reason code such as `timeout` or `http_500`; null if it was acknowledged. */
  failure: orNull(text()),
};
export type WebhookAttempt = RowOf<typeof attemptFields>;
const attempts = columns(attemptFields);
const loggedAttempts = columns({ ...attemptFields, number: int64() });

/** True if nobody sends the event now. Statements also compare its next attempt, to use the index on pending events. */
const isFree = (now: string): string => `(lease_until is null or lease_until <= ${now})`;

/**
 * Returns one event of each receiver, which is an account and the host of its URL: the one that has been due for the
 * longest time without a valid lease. Longest due first. Goes from receiver to receiver by the index and takes the head
 * of each queue, so a long queue costs no more than a short one.
 */
export const listDueWebhooks = read({
  text: `with recursive receivers (receiver) as (
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
    select ${dueEvents.list('e.')} from heads join webhook_events e on e.id = heads.id
    order by e.next_attempt_at, e.created_at, e.id`,
  values: (now: number) => [now],
  read: eachOf(dueEvents.read),
});

interface Claim {
  owner: string;
  leaseUntil: number;
  ids: readonly string[];
  now: number;
}

/** Claims those of the events that are still due and without a valid lease, in no order. */
export const claimWebhooks = write({
  text: ({ isOneOf, lockFreeRows }) => `with due as (
      select id from webhook_events
      where ${isOneOf('id', '$3')} and next_attempt_at <= $4 and ${isFree('$4')} ${lockFreeRows}
    )
    update webhook_events set lease_owner = $1, lease_until = $2 where id in (select id from due)
    returning ${events.list()}`,
  values: valuesOf<Claim>('owner', 'leaseUntil', 'ids', 'now'),
  read: eachOf(events.read),
});

export interface WebhookAttemptInput {
  eventId: string;
  owner: string;
  attempt: Omit<WebhookAttempt, 'eventId'>;
  state: WebhookState;
  /** For `pending` only. */
  nextAttemptAt: number | null;
}

/** Returns the attempt's number in the log, or null if the lease was lost. */
const moveWebhook = statement({
  text: `update webhook_events set state = $3, next_attempt_at = $4, updated_at = $5,
      attempts = attempts + 1, attempts_logged = attempts_logged + 1, lease_owner = null, lease_until = null
    where id = $1 and lease_owner = $2 returning attempts_logged as number`,
  values: ({ eventId, owner, state, nextAttemptAt, attempt }: WebhookAttemptInput) => [
    eventId,
    owner,
    state,
    nextAttemptAt,
    attempt.at + attempt.durationMs,
  ],
  read: firstOf(({ number }: { number: bigint }) => number),
});

const logWebhookAttempt = statement({
  text: `insert into webhook_attempts (${loggedAttempts.list()}) values (${loggedAttempts.parameters()})`,
  values: loggedAttempts.values,
});

/** Logs a delivery attempt and updates the event, by compare-and-set on the lease owner. False if the lease was lost. */
export const recordWebhookAttempt = writeTransaction(function* (input: WebhookAttemptInput) {
  const number = yield* run(moveWebhook, input);
  if (number === null) return false;
  yield* run(logWebhookAttempt, { ...input.attempt, eventId: input.eventId, number });
  return true;
});

export const getWebhook = readBy('webhook_events', 'id', events);

/** Lists the delivery attempts of an event, oldest first. */
export const listWebhookAttempts = read({
  text: `select ${attempts.list()} from webhook_attempts where event_id = $1 order by number`,
  values: (eventId: string) => [eventId],
  read: eachOf(attempts.read),
});

/**
 * Makes the event pending and due now, and its count of attempts zero. The log stays. An attempt under way loses its
 * lease. Null if there is no such event.
 */
export const redeliverWebhook = write({
  text: `update webhook_events set state = 'pending', attempts = 0, next_attempt_at = $2, updated_at = $2,
      lease_owner = null, lease_until = null
    where id = $1 returning ${events.list()}`,
  values: valuesOf<{ eventId: string; now: number }>('eventId', 'now'),
  read: firstOf(events.read),
});

interface Filter {
  accountId?: string;
  jobId?: string;
  states?: readonly WebhookState[];
  limit: number;
}

const newestFirst = 'order by created_at desc, id desc limit';
/** True if the event is in one of the wanted states, or all states are wanted. */
const inStates = ({ isOneOf }: Dialect, parameter: string): string =>
  `(cast(${parameter} as text) is null or ${isOneOf('state', parameter)})`;

const listOfJob = statement({
  text: (dialect) => `select ${events.list()} from webhook_events
    where job_id = $1 and (cast($2 as text) is null or account_id = $2) and ${inStates(dialect, '$3')}
    ${newestFirst} $4`,
  values: valuesOf<Filter & { jobId: string }>('jobId', 'accountId', 'states', 'limit'),
  read: eachOf(events.read),
});

const listOfAccount = statement({
  text: (dialect) => `select ${events.list()} from webhook_events
    where account_id = $1 and ${inStates(dialect, '$2')} ${newestFirst} $3`,
  values: valuesOf<Filter & { accountId: string }>('accountId', 'states', 'limit'),
  read: eachOf(events.read),
});

const allStates = ['pending', 'delivered', 'stopped', 'exhausted'] as const satisfies WebhookState[];

/** Takes the newest of each state by its index, then the newest of these, so rare states are found as fast as common ones. */
const listInStates = statement({
  text: ({ isOneOf }) => {
    const newest = allStates.map(
      (state) => `select * from (select ${events.list()} from webhook_events
        where state = '${state}' and ${isOneOf(`'${state}'`, '$1')} ${newestFirst} $2) as ${state}`,
    );
    return `select * from (${newest.join(' union all ')}) as newest ${newestFirst} $2`;
  },
  values: valuesOf<{ states: readonly WebhookState[]; limit: number }>('states', 'limit'),
  read: eachOf(events.read),
});

const listAll = statement({
  text: `select ${events.list()} from webhook_events ${newestFirst} $1`,
  values: valuesOf<Filter>('limit'),
  read: eachOf(events.read),
});

/** Lists the newest first. Each filter has a statement with its own index. */
export const listWebhooks = readSteps((filter: Filter) => {
  const { jobId, accountId, states, limit } = filter;
  if (jobId !== undefined) return run(listOfJob, { ...filter, jobId });
  if (accountId !== undefined) return run(listOfAccount, { ...filter, accountId });
  return states === undefined ? run(listAll, filter) : run(listInStates, { states, limit });
});
