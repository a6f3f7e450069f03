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
  sending?: Shares;
  /** How long a receiver may take to answer. */
  timeoutMs?: number;
  /** The time between two looks for due events when nobody wakes the dispatcher. */
  pollMs?: number;
  /** In [0, 1), for the jitter. */
  random?: () => number;
}

/** The lease of claimed events: long enough for the time-out, and for the store before and after it. */
const leaseMs = 30_000;
/** The time that aborted deliveries have to end. */
const lastWordsMs = 1_000;

/** An event that is due, and its receiver. */
type Delivery = DueWebhook & Receiver;

const withHost = (due: DueWebhook): Delivery => ({ ...due, host: URL.parse(due.url)?.host ?? '' });

interface Outcome {
  answer: WebhookAnswer;
  /** Counted from 1. */
  attempt: number;
  now: number;
  /** In [0, 1). */
  random: number;
}

/** Any 2xx ends the delivery, 410 stops it, and everything else is tried again while there are attempts left. */
const nextState = (outcome: Outcome): Pick<WebhookAttemptInput, 'state' | 'nextAttemptAt'> => {
  const { answer, attempt, now, random } = outcome;
  if (answer.failure === null) return { state: 'delivered', nextAttemptAt: null };
  if (answer.httpStatus === 410) return { state: 'stopped', nextAttemptAt: null };
  const delay = delayAfter(attempt, random, answer.retryAfterMs);
  return delay === null
    ? { state: 'exhausted', nextAttemptAt: null }
    : { state: 'pending', nextAttemptAt: now + delay };
};

interface Sender extends Omit<WebhookDispatcherOptions, 'sending' | 'pollMs'> {
  /** The name of this process in leases. */
  owner: string;
  timeoutMs: number;
  random: () => number;
  /** Aborts the deliveries under way. */
  signal: AbortSignal;
}

/** Sends one event, and records the answer and what follows from it. */
const deliver = async (sender: Sender, event: WebhookEvent, { host, accountId }: Receiver): Promise<void> => {
  const { store, clock, log, owner, random } = sender;
  const at = clock.now();
  const secrets = await ensureWebhookSecret(store, accountId);
  const answer = await sendWebhook(event, { ...sender, secrets, now: at });
  if (answer === null) return;
  const { httpStatus, failure } = answer;
  const now = clock.now();
  const next = nextState({ answer, attempt: event.attempts + 1, now, random: random() });
  const attempt = { at, durationMs: Math.max(0, now - at), httpStatus, failure };
  const isRecorded = await store.recordWebhookAttempt({ eventId: event.id, owner, attempt, ...next });
  const facts = { eventId: event.id, accountId, jobId: event.jobId, host };
  if (!isRecorded) log.info(facts, 'a webhook was taken over while it was being sent');
  else if (next.state === 'exhausted')
    log.warn({ ...facts, httpStatus, failure }, 'a webhook failed for the last time; it can be redelivered');
  else if (next.state === 'stopped')
    log.info(facts, 'the receiver of a webhook answered 410 and gets it no more');
};

/** Hands out the slots for deliveries within the shares of their receivers, in the order of their turns. */
const createSlots = ({ total, perAccount, perHost, perReceiver }: Shares) => {
  const limiter = createFairShareLimiter({
    total,
    perOwner: { account: perAccount, host: perHost, receiver: perReceiver },
  });
  const scheduler = createFairScheduler();
  return {
    hasFree: (): boolean => limiter.free > 0,
    /** Returns the deliveries that got a slot, by event. Those under way (`running`) have one. */
    enter: (
      deliveries: readonly Delivery[],
      running: { has(eventId: string): boolean },
    ): Map<string, { due: Delivery; release: Release }> => {
      const entered = new Map<string, { due: Delivery; release: Release }>();
      for (const due of scheduler.order(deliveries)) {
        if (running.has(due.id)) continue;
        const owners = { account: due.accountId, host: due.host, receiver: receiverKey(due) };
        const release = limiter.tryAcquire(owners);
        if (release !== null) entered.set(due.id, { due, release });
      }
      for (const { due } of entered.values()) scheduler.take(due);
      return entered;
    },
  };
};

/** The deliveries under way in this process. */
const createDeliveries = (sender: Sender) => {
  const running = new Map<string, Promise<void>>();
  return {
    has: (eventId: string): boolean => running.has(eventId),
    /** Begins to deliver an event. Calls `onEnd` however it ends. */
    start: (event: WebhookEvent, receiver: Receiver, onEnd: () => void): void => {
      const sent = deliver(sender, event, receiver)
        .catch((error: unknown) => {
          if (sender.signal.aborted) return;
          // Nothing is recorded: the lease of the event ends, and it is sent again.
          sender.log.error({ err: error, eventId: event.id }, 'sending a webhook failed');
        })
        .finally(() => {
          running.delete(event.id);
          onEnd();
        });
      running.set(event.id, sent);
    },
    /** Waits at most `timeoutMs` until all have ended. */
    untilEnded: async (timeoutMs: number): Promise<void> => {
      await Promise.race([Promise.allSettled(running.values()), pause(timeoutMs)]);
    },
  };
};

export type WebhookDispatcher = ReturnType<typeof createWebhookDispatcher>;

/**
 * Delivers webhooks at least once: claims an event under a lease, sends it and records the outcome. A crash between the
 * last two repeats the same bytes under the same `event_id`. Only events that can be sent at once are claimed, so that
 * other processes may take those that wait for a share.
 */
export const createWebhookDispatcher = ({
  sending = { total: 64, perHost: 8, perAccount: 8, perReceiver: 4 },
  pollMs = 1_000,
  ...options
}: WebhookDispatcherOptions) => {
  const { store, clock, log } = options;
  const owner = randomUUID();
  const slots = createSlots(sending);
  const draining = new AbortController();
  const ended = new AbortController();
  const deliveries = createDeliveries({
    timeoutMs: 10_000,
    random: Math.random,
    ...options,
    owner,
    signal: ended.signal,
  });
  let claiming: Promise<void> = Promise.resolve();
  /** Ends the pause between two looks for due events. */
  let waking = new AbortController();
  const wake = (): void => waking.abort();

  /** Begins to send one event to each receiver within its shares. Returns true if there may be more to send now. */
  const startSome = async (): Promise<boolean> => {
    if (!slots.hasFree()) return false;
    const now = clock.now();
    const waiting = (await store.listDueWebhooks(now)).map(withHost);
    // An event that is still being sent here although its lease ran out gets a new lease, and is not sent twice.
    const lapsed = waiting.filter(({ id }) => deliveries.has(id));
    const entered = slots.enter(waiting, deliveries);
    const ids = [...lapsed.map(({ id }) => id), ...entered.keys()];
    if (ids.length === 0) return false;
    try {
      const claimed = await store.claimWebhooks({ owner, leaseUntil: now + leaseMs, ids, now });
      for (const event of claimed) {
        const slot = entered.get(event.id);
        if (slot === undefined || draining.signal.aborted) continue;
        entered.delete(event.id);
        deliveries.start(event, slot.due, () => {
          slot.release();
          wake();
        });
      }
      // Empty when another process was faster.
      return claimed.length > 0;
    } finally {
      for (const { release } of entered.values()) release();
    }
  };

  const startAgainAndAgain = async (): Promise<void> => {
    while (!draining.signal.aborted) {
      waking = new AbortController();
      try {
        while (!draining.signal.aborted && (await startSome()));
      } catch (error) {
        log.error({ err: error }, 'claiming webhooks failed');
      }
      await pause(pollMs, waking.signal);
    }
  };

  return {
    /** Begins to deliver due events. */
    begin: (): void => {
      claiming = startAgainAndAgain();
    },
    /** Tells that an event has just become due in this process. */
    wake,
    /** Claims no more events, waits up to `timeoutMs` for deliveries, then aborts them; they are repeated later. */
    drain: async (timeoutMs: number): Promise<void> => {
      draining.abort();
      wake();
      await claiming;
      await deliveries.untilEnded(timeoutMs);
      ended.abort(new Error('the process is ending'));
      await deliveries.untilEnded(lastWordsMs);
    },
  };
};
