import { randomUUID } from 'node:crypto';
import type { Clock } from '../kit/clock.ts';
import { createFairShareLimiter, type Release } from '../kit/fair-share-limiter.ts';
import type { Log } from '../kit/log.ts';
import type { Outbound } from '../http/outbound.ts';
import { pause } from '../kit/repeat.ts';
import type { DueWebhook, Store, WebhookAttemptInput, WebhookEvent } from '../store/store.ts';
import { ensureWebhookSecret } from './ensure-webhook-secret.ts';
import { delayAfter } from './retry-schedule.ts';
import { sendWebhook, type WebhookAnswer } from './send-webhook.ts';
import { createFairScheduler, receiverKey, type Receiver } from './fair-scheduler.ts';

export interface WebhookDispatcher {
  /** Begins to deliver due events. */
  begin(): void;
  /** Tells that an event has just become due in this process. */
  wake(): void;
  /** Claims no more events, waits up to `timeoutMs` for deliveries, then aborts them; they are repeated later. */
  drain(timeoutMs: number): Promise<void>;
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
  /**
   * How many deliveries run at once, in all, of one account, to one host, and of one account to one host. The last is less than
   * `perHost`, which leaves something to other accounts there.
   */
  sending?: { total: number; perAccount: number; perHost: number; perReceiver: number };
  /** How long a receiver may take to answer. */
  timeoutMs?: number;
  /** The time between two looks for due events when nobody wakes the dispatcher. */
  pollMs?: number;
  /** In [0, 1), for the jitter. */
  random?: () => number;
}

/** How long claimed events are this process's: enough for the time-out and, before and after it, the store. */
const leaseMs = 30_000;
/** The time that aborted deliveries have to end. */
const lastWordsMs = 1_000;

/** A receiver with a slot among the deliveries that run. */
interface Entered {
  receiver: Receiver;
  release: Release;
}

/** An event that is due, and its receiver. */
type Delivery = DueWebhook & Receiver;

/**
 * Delivers webhooks at least once: claims an event under a lease, sends it and records the outcome. A crash between the last
 * two repeats the same bytes under the same `event_id`. Only events that can be sent at once are claimed, so that other
 * processes may take those that wait for a share.
 */
export const createWebhookDispatcher = ({
  store,
  outbound,
  clock,
  log,
  brand,
  sending = { total: 64, perHost: 8, perAccount: 8, perReceiver: 4 },
  timeoutMs = 10_000,
  pollMs = 1_000,
  random = Math.random,
}: WebhookDispatcherOptions): WebhookDispatcher => {
  const owner = randomUUID();
  const limiter = createFairShareLimiter({
    total: sending.total,
    perOwner: { account: sending.perAccount, host: sending.perHost, receiver: sending.perReceiver },
  });
  const scheduler = createFairScheduler();
  /** The deliveries under way, by event. */
  const running = new Map<string, Promise<void>>();
  const draining = new AbortController();
  const ended = new AbortController();
  let isWoken = false;
  let rouse = (): void => undefined;
  let claiming: Promise<void> = Promise.resolve();

  const wake = (): void => {
    isWoken = true;
    rouse();
  };

  const send = async (event: WebhookEvent, { host, accountId }: Receiver): Promise<void> => {
    const at = clock.now();
    const secrets = await ensureWebhookSecret(store, accountId);
    const { signal } = ended;
    const sent = await sendWebhook(event, { outbound, brand, secrets, now: at, timeoutMs, signal });
    if (sent === null) return;
    const { retryAfterMs: askedMs, ...answer } = sent;
    const now = clock.now();
    const next = nextState({ answer, askedMs, attempt: event.attempts + 1, now, random: random() });
    const attempt = { at, durationMs: Math.max(0, now - at), ...answer };
    const isRecorded = await store.recordWebhookAttempt({ eventId: event.id, owner, attempt, ...next });
    const facts = { eventId: event.id, accountId, jobId: event.jobId, host };
    if (!isRecorded) log.info(facts, 'a webhook was taken over while it was being sent');
    else if (next.state === 'exhausted')
      log.warn({ ...facts, ...answer }, 'a webhook is given up; it can be redelivered');
    else if (next.state === 'stopped') log.info(facts, 'the receiver of a webhook wants it no more');
  };

  const start = (event: WebhookEvent, { receiver, release }: Entered): void => {
    const sent = send(event, receiver)
      .catch((error: unknown) => {
        // Nothing is recorded: the lease of the event ends, and it is sent again.
        if (!ended.signal.aborted) log.error({ err: error, eventId: event.id }, 'sending a webhook failed');
      })
      .finally(() => {
        running.delete(event.id);
        release();
        wake();
      });
    running.set(event.id, sent);
  };

  /** Takes slots for deliveries within the shares of their receivers, in the order of their turns. */
  const enter = (deliveries: readonly Delivery[]): Map<string, Entered> => {
    const entered = new Map<string, Entered>();
    for (const due of scheduler.order(deliveries)) {
      if (running.has(due.id)) continue;
      const owners = { account: due.accountId, host: due.host, receiver: receiverKey(due) };
      const release = limiter.tryAcquire(owners);
      if (release !== null) entered.set(due.id, { receiver: due, release });
    }
    for (const { receiver } of entered.values()) scheduler.take(receiver);
    return entered;
  };

  /** Begins to send one event to each receiver within its shares. Returns true if there may be more to send now. */
  const startSome = async (): Promise<boolean> => {
    if (limiter.free === 0) return false;
    const now = clock.now();
    const waiting = (await store.listDueWebhooks(now)).map(withHost);
    // An event that is still being sent here although its lease ran out gets a new lease, and is not sent twice.
    const lapsed = waiting.filter(({ id }) => running.has(id));
    const entered = enter(waiting);
    const ids = [...lapsed.map(({ id }) => id), ...entered.keys()];
    if (ids.length === 0) return false;
    try {
      const claimed = await store.claimWebhooks({ owner, leaseUntil: now + leaseMs, ids, now });
      for (const event of claimed) {
        const due = entered.get(event.id);
        if (due === undefined || draining.signal.aborted) continue;
        entered.delete(event.id);
        start(event, due);
      }
      // Empty when another process was faster.
      return claimed.length > 0;
    } finally {
      for (const { release } of entered.values()) release();
    }
  };

  const startAll = async (): Promise<void> => {
    try {
      while (!draining.signal.aborted && (await startSome()));
    } catch (error) {
      log.error({ err: error }, 'claiming webhooks failed');
    }
  };

  const untilWoken = async (): Promise<void> => {
    if (isWoken || draining.signal.aborted) return;
    const pausing = new AbortController();
    rouse = () => pausing.abort();
    await pause(pollMs, pausing.signal);
  };

  const startAgainAndAgain = async (): Promise<void> => {
    while (!draining.signal.aborted) {
      isWoken = false;
      await startAll();
      await untilWoken();
    }
  };

  return {
    begin: () => {
      claiming = startAgainAndAgain();
    },
    wake,
    drain: async (timeoutMs) => {
      draining.abort();
      wake();
      await claiming;
      await Promise.race([Promise.allSettled(running.values()), pause(timeoutMs)]);
      ended.abort(new Error('the process is ending'));
      await Promise.race([Promise.allSettled(running.values()), pause(lastWordsMs)]);
    },
  };
};

const withHost = (due: DueWebhook): Delivery => ({ ...due, host: URL.parse(due.url)?.host ?? '' });

/** Any 2xx ends the delivery, 410 stops it, and everything else is tried again while there are attempts left. */
const nextState = ({
  answer,
  askedMs,
  attempt,
  now,
  random,
}: {
  answer: WebhookAnswer;
  askedMs: number | undefined;
  attempt: number;
  now: number;
  random: number;
}): Pick<WebhookAttemptInput, 'state' | 'nextAttemptAt'> => {
  if (answer.failure === null) return { state: 'delivered', nextAttemptAt: null };
  if (answer.httpStatus === 410) return { state: 'stopped', nextAttemptAt: null };
  const delay = delayAfter(attempt, random, askedMs);
  return delay === null
    ? { state: 'exhausted', nextAttemptAt: null }
    : { state: 'pending', nextAttemptAt: now + delay };
};
