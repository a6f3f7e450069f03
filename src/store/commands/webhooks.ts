import { columns, int64, integer, omit, orNull, pick, text, time, type RowOf } from '../columns.ts';
import { read, readBy, readSteps, run, write, writeTransaction } from '../command.ts';
import { eachOf, firstOf, statement, valuesOf, type Dialect } from '../statement.ts';
import { pageValues, type Page } from './history-page.ts';
import {
  webhookStates,
  type AccountEventName,
  type WebhookEventName,
  type WebhookState,
} from './webhook-names.ts';
import { endOfAccount, toDueWebhooks, walkedFields, walkedReceivers, type DueWalk } from './webhook-walk.ts';

const eventFields = {
  /** `event_id` of the body and `webhook-id` of every delivery. */
  id: text(),
  /** Null: it is for the operator, and `url` only shows where the settings led. */
  accountId: orNull(text()),
  event: text<WebhookEventName>(),
  /** Null: it tells of no job. */
  jobId: orNull(text()),
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

const attemptFields = {
  eventId: text(),
  at: time(),
  durationMs: integer(),
  httpStatus: orNull(integer()),
  /** A short reason code such as `timeout` or `http_500`; null if it was acknowledged. */
  failure: orNull(text()),
};
export type WebhookAttempt = RowOf<typeof attemptFields>;
const attempts = columns(attemptFields);
const loggedAttempts = columns({ ...attemptFields, number: int64() });

const walkedColumns = columns(walkedFields);

/** True if nobody sends the event now. Statements also compare its next attempt, to use the index on pending events. */
const isFree = (now: string): string => `(lease_until is null or lease_until <= ${now})`;

/**
 * Walks by the index from account to account, and from receiver to receiver of each; a receiver is an account and the
 * host of its URL. The accounts share the number of receivers that one walk looks at, so that nobody's many receivers
 * push others out. Returns one event of each: the one that has been due for the longest time without a valid lease.
 * Longest due first. It is the head of a queue, so a long queue costs no more than a short one. The limit of the heads
 * tells PostgreSQL that they are few, so that it finds their events by id.
 */
export const listDueWebhooks = read({
  text: ({ kind, givenStrings }) => {
    const end = endOfAccount(kind, 'firsts.receiver');
    return `with recursive places (receiver) as (
      select value from ${givenStrings('$3')}
    ), firsts (receiver, position) as (
      select min(receiver), 1 from webhook_events where next_attempt_at is not null and receiver > $2
      union all
      select (
        select min(e.receiver) from webhook_events e
        where e.next_attempt_at is not null and e.receiver > ${end}
      ), position + 1 from firsts where firsts.receiver is not null and position < ${walkedReceivers}
    ), receivers (receiver, until, remaining) as (
      select coalesce((
        select min(e.receiver) from webhook_events e
        where e.next_attempt_at is not null and e.receiver < ${end}
          and e.receiver > (
            select max(p.receiver) from places p
            where p.receiver >= firsts.receiver and p.receiver < ${end}
          )
      ), firsts.receiver), ${end},
        (select ${walkedReceivers} / nullif(count(firsts.receiver), 0) from firsts)
      from firsts where firsts.receiver is not null
      union all
      select (
        select min(e.receiver) from webhook_events e
        where e.next_attempt_at is not null
          and e.receiver > receivers.receiver and e.receiver < receivers.until
      ), until, remaining - 1 from receivers where receivers.receiver is not null and remaining > 1
    ), heads (receiver, id, remaining) as (
      select receiver, (
        select e.id from webhook_events e
        where e.receiver = receivers.receiver and e.next_attempt_at <= $1 and ${isFree('$1')}
        order by e.next_attempt_at, e.created_at, e.id limit 1
      ), remaining from receivers where receiver is not null limit ${walkedReceivers}
    )
    select heads.receiver, e.id, e.account_id, e.url, heads.remaining
    from heads left join webhook_events e on e.id = heads.id
    order by e.next_attempt_at, e.created_at, e.id`;
  },
  values: valuesOf<DueWalk>('now', 'after', 'places'),
  read: (rows: Parameters<typeof walkedColumns.read>[0][]) => toDueWebhooks(rows.map(walkedColumns.read)),
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

export const listWebhookAttempts = read({
  text: `select ${attempts.list()} from webhook_attempts where event_id = $1 order by number`,
  values: (eventId: string) => [eventId],
  read: eachOf(attempts.read),
});

export type NewWebhook = Pick<WebhookEvent, 'id' | 'accountId' | 'event' | 'jobId' | 'url' | 'body'> & {
  now: number;
};

/** Adds an event that is due now. The end of a job adds its own. */
export const addWebhook = write({
  text: `insert into webhook_events
      (id, account_id, event, job_id, url, body, next_attempt_at, created_at, updated_at, state)
    values ($1, $2, $3, $4, $5, $6, $7, $7, $7, 'pending')`,
  values: valuesOf<NewWebhook>('id', 'accountId', 'event', 'jobId', 'url', 'body', 'now'),
});

const deliveryFields = { ...omit(eventFields, 'body'), event: text<AccountEventName>() };
const deliveryColumns = columns(deliveryFields);
const deliveries = columns({ ...deliveryFields, ...pick(attemptFields, 'httpStatus', 'failure') });
/** An event with its last attempt, without its body. */
export type WebhookDelivery = ReturnType<typeof deliveries.read>;

const selectDeliveries = `select ${deliveryColumns.list('e.')}, a.http_status, a.failure
  from webhook_events e left join webhook_attempts a on a.event_id = e.id and a.number = e.attempts_logged`;

/** Lists the events of an account by `createdAt`, then id, both descending, after the position `before`. */
export const listDeliveries = read({
  text: `${selectDeliveries} where e.account_id = $1 and (e.created_at, e.id) < ($2, $3)
    order by e.created_at desc, e.id desc limit $4`,
  values: (page: Page) => pageValues(page),
  read: eachOf(deliveries.read),
});

export const getDelivery = read({
  text: `${selectDeliveries} where e.id = $1 and e.account_id = $2`,
  values: valuesOf<{ id: string; accountId: string }>('id', 'accountId'),
  read: firstOf(deliveries.read),
});

/** Makes the event due now, with no attempts. The log stays. An attempt under way loses its lease. */
export const redeliverWebhook = write({
  text: `update webhook_events set state = 'pending', attempts = 0, next_attempt_at = $2, updated_at = $2,
      lease_owner = null, lease_until = null
    where id = $1 and (cast($3 as text) is null or account_id = $3) returning ${events.list()}`,
  values: valuesOf<{ eventId: string; now: number; accountId?: string }>('eventId', 'now', 'accountId'),
  read: firstOf(events.read),
});

interface Filter {
  accountId?: string;
  jobId?: string;
  states?: readonly WebhookState[];
  limit: number;
}

const newestFirst = 'order by created_at desc, id desc limit';
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

/** Takes the newest of each state by its index, then the newest of these, so rare states are found as fast as common ones. */
const listInStates = statement({
  text: ({ isOneOf }) => {
    const newest = webhookStates.map(
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
