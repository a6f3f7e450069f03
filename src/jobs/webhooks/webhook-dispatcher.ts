import { randomUUID } from 'node:crypto';
import type { WebhookEventName } from '../../store/commands/webhook-names.ts';
import type { Clock } from '../../kit/clock.ts';
import { createFairShareLimiter, type Release } from '../../kit/fair-share-limiter.ts';
import type { Log } from '../../kit/log.ts';
import type { Outbound } from '../../http/outbound.ts';
import { pause } from '../../kit/repeat.ts';
import type { DueWebhook, Store, WebhookAttemptInput, WebhookEvent } from '../../store/store.ts';
import { sendWebhook, type WebhookAnswer } from './send-webhook.ts';
import { createDueRounds } from './due-rounds.ts';
import { ensureWebhookSecret } from './webhook-secrets.ts';
import type { AlertReceiver } from './webhook-settings.ts';

/**
 * Maximum numbers of deliveries at once: in total, of one account, to one host, and of one account to one host. The last
 * is less than `perHost`, so that other accounts get a part of the host.
 */
interface Shares {
  total: number;
  perAccount: number;
  perHost: number;
  perReceiver: number;
}

export interface WebhookDispatcherOptions {
  store: Pick<
    Store,
    'listDueWebhooks' | 'claimWebhooks' | 'recordWebhookAttempt' | 'getWebhookSecrets' | 'ensureWebhookSecret'
  >;
  outbound: Outbound;
  clock: Clock;
  log: Log;
  brand: string;
  /** Null or absent: events for the operator are not sent now. */
  alerts?: AlertReceiver | null;
  sending?: Shares;
  timeoutMs?: number;
  /** The time between two looks for due events when nobody wakes the dispatcher. */
  pollMs?: number;
  random?: () => number;
}

/** The lease of claimed events: long enough for the time-out, and for the store before and after it. */
const leaseMs = 30_000;
/** The time that aborted deliveries have to end. */
const lastWordsMs = 1_000;

type Delivery = DueWebhook & Receiver;

const toDelivery = (due: DueWebhook): Delivery => ({
  ...due,
  host: URL.parse(due.url)?.host ?? '',
  // The operator takes turns with the accounts.
  accountId: due.accountId ?? '',
});

/**
 * Any 2xx ends the delivery, 410 stops it, and everything else is tried again while there are attempts left. A test event is
 * sent once: it is free, and may go to anybody.
 */
const nextState = (
  answer: WebhookAnswer,
  { event, attempt, now, random }: { event: WebhookEventName; attempt: number; now: number; random: number },
): Pick<WebhookAttemptInput, 'state' | 'nextAttemptAt'> => {
  if (answer.failure === null) return { state: 'delivered', nextAttemptAt: null };
  if (answer.httpStatus === 410) return { state: 'stopped', nextAttemptAt: null };
  const delay = event === 'webhook.test' ? null : delayAfter(attempt, random, answer.retryAfterMs);
  return delay === null
    ? { state: 'exhausted', nextAttemptAt: null }
    : { state: 'pending', nextAttemptAt: now + delay };
};

type Dispatch = ReturnType<typeof createDispatch>;

const createDispatch = ({
  sending: { total, ...shares } = { total: 64, perHost: 8, perAccount: 8, perReceiver: 4 },
  ...options
}: WebhookDispatcherOptions) => {
  const { perAccount: account, perHost: host, perReceiver: receiver } = shares;
  return {
    timeoutMs: 10_000,
    pollMs: 1_000,
    random: Math.random,
    ...options,
    owner: randomUUID(),
    limiter: createFairShareLimiter({ total, perOwner: { account, host, receiver } }),
    scheduler: createFairScheduler(),
    rounds: createDueRounds(),
    running: new Map<string, Promise<void>>(),
    draining: new AbortController(),
    /** Aborts the deliveries under way. */
    ended: new AbortController(),
    /** Ends the pause between two looks for due events. */
    waking: new AbortController(),
  };
};

/** Sends an event to its account, or to where the settings want alerts now. */
const send = async (dispatch: Dispatch, event: WebhookEvent, now: number): Promise<WebhookAnswer | null> => {
  const { store, alerts = null, ended } = dispatch;
  const options = { ...dispatch, now, signal: ended.signal };
  if (event.accountId !== null)
    return sendWebhook(event, { ...options, secrets: await ensureWebhookSecret(store, event.accountId) });
  if (alerts === null) return { httpStatus: null, failure: 'not_configured' };
  const secrets = { current: alerts.secret, previous: null };
  return sendWebhook({ ...event, url: alerts.url }, { ...options, secrets, isOwn: true });
};

const deliver = async (dispatch: Dispatch, event: WebhookEvent, host: string): Promise<void> => {
  const { store, clock, log, owner, random } = dispatch;
  const at = clock.now();
  const answer = await send(dispatch, event, at);
  if (answer === null) return;
  const { httpStatus, failure } = answer;
  const now = clock.now();
  const next = nextState(answer, {
    event: event.event,
    attempt: event.attempts + 1,
    now,
    random: random(),
  });
  const attempt = { at, durationMs: Math.max(0, now - at), httpStatus, failure };
  const isRecorded = await store.recordWebhookAttempt({ eventId: event.id, owner, attempt, ...next });
  const facts = { eventId: event.id, accountId: event.accountId, jobId: event.jobId, host };
  const refused = { ...facts, httpStatus, failure };
  if (!isRecorded) log.info(facts, 'a webhook was taken over while it was being sent');
  else if (next.state === 'exhausted')
    log.warn(refused, 'a webhook failed for the last time; it can be redelivered');
  else if (next.state === 'stopped')
    log.info(facts, 'the receiver of a webhook answered 410 and gets it no more');
};

const start = (dispatch: Dispatch, event: WebhookEvent, { due, release }: Slot): void => {
  const { running, ended, log } = dispatch;
  const sent = deliver(dispatch, event, due.host)
    .catch((error: unknown) => {
      // Nothing is recorded: the lease of the event ends, and it is sent again.
      if (!ended.signal.aborted) log.error({ err: error, eventId: event.id }, 'sending a webhook failed');
    })
    .finally(() => {
      running.delete(event.id);
      release();
      dispatch.waking.abort();
    });
  running.set(event.id, sent);
};

interface Slot {
  due: Delivery;
  release: Release;
}

/** Takes slots for deliveries within the shares of their receivers, in the order of their turns. */
const takeSlots = (
  { limiter, scheduler, running }: Dispatch,
  deliveries: readonly Delivery[],
): Map<string, Slot> => {
  const slots = new Map<string, Slot>();
  for (const due of scheduler.order(deliveries)) {
    if (running.has(due.id)) continue;
    const owners = { account: due.accountId, host: due.host, receiver: receiverKey(due) };
    const release = limiter.tryAcquire(owners);
    if (release !== null) slots.set(due.id, { due, release });
  }
  for (const { due } of slots.values()) scheduler.take(due);
  return slots;
};

/**
 * Looks at some of the due events, and moves on to others. An account of which nothing was started because it, or the
 * dispatcher, has no place free keeps its place in the round, so that a busy account passes over none of its receivers.
 */
const look = async (
  dispatch: Dispatch,
  now: number,
): Promise<{ waiting: Delivery[]; slots: Map<string, Slot> }> => {
  const { store, rounds, limiter } = dispatch;
  const found = await store.listDueWebhooks({ now, ...rounds.next() });
  const waiting = found.due.map(toDelivery);
  const slots = takeSlots(dispatch, waiting);
  const started = new Set(slots.values().map(({ due }) => due.accountId));
  const hasRoom = (account: string): boolean => {
    const release = limiter.tryAcquire({ account });
    release?.();
    return release !== null;
  };
  rounds.moveOn(found, (account) => started.has(account) || hasRoom(account));
  return { waiting, slots };
};

/** Begins to send one event to each receiver within its shares. Returns true if there may be more to send now. */
const startSome = async (dispatch: Dispatch): Promise<boolean> => {
  const { store, clock, limiter, owner, running, draining } = dispatch;
  if (limiter.free === 0) return false;
  const now = clock.now();
  const { waiting, slots } = await look(dispatch, now);
  // An event that is still being sent here although its lease ran out gets a new lease, and is not sent twice.
  const lapsed = waiting.filter(({ id }) => running.has(id));
  const ids = [...lapsed.map(({ id }) => id), ...slots.keys()];
  if (ids.length === 0) return false;
  try {
    const claimed = await store.claimWebhooks({ owner, leaseUntil: now + leaseMs, ids, now });
    for (const event of claimed) {
      const slot = slots.get(event.id);
      if (slot === undefined || draining.signal.aborted) continue;
      slots.delete(event.id);
      start(dispatch, event, slot);
    }
    // Empty when another process was faster.
    return claimed.length > 0;
  } finally {
    for (const { release } of slots.values()) release();
  }
};

const startAgainAndAgain = async (dispatch: Dispatch): Promise<void> => {
  const { signal } = dispatch.draining;
  while (!signal.aborted) {
    dispatch.waking = new AbortController();
    try {
      while (!signal.aborted && (await startSome(dispatch)));
    } catch (error) {
      dispatch.log.error({ err: error }, 'claiming webhooks failed');
    }
    await pause(dispatch.pollMs, dispatch.waking.signal);
  }
};

export type WebhookDispatcher = ReturnType<typeof createWebhookDispatcher>;

/**
 * Delivers webhooks at least once: claims an event under a lease, sends it and records the outcome. A crash between the
 * last two repeats the same bytes under the same `event_id`. Only events that can be sent at once are claimed, so that
 * other processes may take those that wait for a share.
 */
export const createWebhookDispatcher = (options: WebhookDispatcherOptions) => {
  const dispatch = createDispatch(options);
  const untilSent = (timeoutMs: number) =>
    Promise.race([Promise.allSettled(dispatch.running.values()), pause(timeoutMs)]);
  let claiming: Promise<void> = Promise.resolve();
  return {
    begin: (): void => {
      claiming = startAgainAndAgain(dispatch);
    },
    /** Tells that an event has just become due in this process. */
    wake: (): void => dispatch.waking.abort(),
    /** Claims no more events, waits up to `timeoutMs` for deliveries, then aborts them; they are repeated later. */
    drain: async (timeoutMs: number): Promise<void> => {
      dispatch.draining.abort();
      dispatch.waking.abort();
      await claiming;
      await untilSent(timeoutMs);
      dispatch.ended.abort(new Error('the process is ending'));
      await untilSent(lastWordsMs);
    },
  };
};

/** Milliseconds from each failed attempt to the next: 5 and 30 seconds, 2, 10 and 30 minutes, 2, 6 and 12 hours. */
const delays = [5_000, 30_000, 120_000, 600_000, 1_800_000, 7_200_000, 21_600_000, 43_200_000];

/** Each delay varies by up to this share, so that after an outage not all receivers are called at once. */
const jitter = 0.2;

/**
 * Returns the milliseconds from a failed attempt to the next; null after the last one. The first attempt is 1. `random`
 * is in [0, 1). The receiver may ask for a longer delay (`askedMs`), up to the next step of the schedule.
 */
export const delayAfter = (attempt: number, random: number, askedMs = 0): number | null => {
  const delay = delays[attempt - 1];
  if (delay === undefined) return null;
  const scheduled = Math.round(delay * (1 + jitter * (2 * random - 1)));
  return Math.max(scheduled, Math.min(Math.ceil(askedMs), delays[attempt] ?? delay));
};

export interface Receiver {
  host: string;
  accountId: string;
}

/** Of accounts and receivers: several times as many as one look shows. */
const rememberedTurns = 4_096;

/** Lets accounts take turns, and the hosts of each account, when there is not room for all deliveries. */
export const createFairScheduler = (remembered = rememberedTurns) => {
  /** The number of the last turn, by account and by receiver; the latest are last. */
  const lastTurns = new Map<string, number>();
  let turn = 0;
  const lastOf = (key: string): number => lastTurns.get(key) ?? 0;
  return {
    /** Accounts whose turn was longest ago, or never, come first, then hosts likewise. Equals stay in their order. */
    order: <Delivery extends Receiver>(waiting: readonly Delivery[]): Delivery[] =>
      waiting.toSorted(
        (a, b) =>
          lastOf(a.accountId) - lastOf(b.accountId) || lastOf(receiverKey(a)) - lastOf(receiverKey(b)),
      ),
    take: (receiver: Receiver): void => {
      turn += 1;
      for (const key of [receiver.accountId, receiverKey(receiver)]) {
        lastTurns.delete(key);
        lastTurns.set(key, turn);
      }
      // A look shows a part of those who wait, so turns of others are remembered too. The oldest go, to bound memory.
      for (const key of lastTurns.keys()) {
        if (lastTurns.size <= remembered) break;
        lastTurns.delete(key);
      }
    },
  };
};

const receiverKey = ({ host, accountId }: Receiver): string => `${accountId} ${host}`;
