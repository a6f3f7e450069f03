import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Outbound } from '../outbound/outbound.ts';
import { pause } from '../repeat.ts';
import type { Store, WebhookAttemptInput, WebhookEvent } from '../store/store.ts';
import { ensureWebhookSecret } from './ensure-webhook-secret.ts';
import { delayAfter } from './retry-schedule.ts';
import { sendWebhook, type WebhookAnswer } from './send-webhook.ts';
import { createShares, type Parties, type SharesOptions } from './shares.ts';

export interface WebhookDispatcher {
  /** Begins to deliver what is due. */
  begin(): void;
  /** Tells that an event has just become due in this process. */
  wake(): void;
  /** Claims no more, waits up to `timeoutMs` for what is being sent, then breaks it off; that is repeated later. */
  drain(timeoutMs: number): Promise<void>;
}

export interface WebhookDispatcherOptions {
  store: Pick<Store, 'claimWebhooks' | 'recordWebhookAttempt' | 'getWebhookSecrets' | 'ensureWebhookSecret'>;
  outbound: Outbound;
  clock: Clock;
  log: Log;
  brand: string;
  /** How many deliveries run at once. */
  sending?: SharesOptions;
  /**
   * Events in memory, being sent or waiting for their share. Of a receiver that has more, the rest is let go: it is due
   * again when its lease ends, and meanwhile what lies behind it in the store can be seen.
   */
  keeping?: SharesOptions;
  /** What a receiver has for its answer. */
  timeoutMs?: number;
  /** How often due events are looked for when nobody wakes. */
  pollMs?: number;
  /** In [0, 1), for the jitter. */
  random?: () => number;
}

/** How long claimed events are this process's; it begins none that could not end within it. */
const leaseMs = 30_000;
/** Beside its time-out, what a delivery may take for the store. */
const bookkeepingMs = 5_000;
/** Events claimed at once. */
const batch = 256;
/** Batches claimed before the next pause. */
const maxBatches = 100;
/** How long broken-off deliveries have to end. */
const lastWordsMs = 1_000;

interface Kept extends Parties {
  event: WebhookEvent;
  leaseUntil: number;
  isSending: boolean;
}

/**
 * Delivers webhooks at least once: an event is claimed under a lease, sent, and what came of it written down. A crash
 * between the two repeats the same bytes under the same `event_id`.
 */
export const createWebhookDispatcher = ({
  store,
  outbound,
  clock,
  log,
  brand,
  sending = { total: 32, perHost: 4, perAccount: 8 },
  keeping = { total: 2_048, perHost: 256, perAccount: 512 },
  timeoutMs = 10_000,
  pollMs = 1_000,
  random = Math.random,
}: WebhookDispatcherOptions): WebhookDispatcher => {
  const owner = randomUUID();
  const kept = new Map<string, Kept>();
  const room = createShares(keeping);
  const lanes = createShares(sending);
  const running = new Set<Promise<void>>();
  const draining = new AbortController();
  const ended = new AbortController();
  let isWoken = false;
  let rouse = (): void => undefined;
  let claiming: Promise<void> = Promise.resolve();

  const wake = (): void => {
    isWoken = true;
    rouse();
  };

  const send = async ({ event, host, accountId }: Kept): Promise<void> => {
    const at = clock.now();
    const secrets = await ensureWebhookSecret(store, accountId);
    const { signal } = ended;
    const answer = await sendWebhook(event, { outbound, brand, secrets, now: at, timeoutMs, signal });
    if (answer === null) return;
    const now = clock.now();
    const next = nextState({ answer, attempt: event.attempts + 1, now, random: random() });
    const attempt = { at, durationMs: Math.max(0, now - at), ...answer };
    const isRecorded = await store.recordWebhookAttempt({ eventId: event.id, owner, attempt, ...next });
    const facts = { eventId: event.id, accountId, jobId: event.jobId, host };
    if (!isRecorded) log.info(facts, 'a webhook was taken over while it was being sent');
    else if (next.state === 'exhausted')
      log.warn({ ...facts, ...answer }, 'a webhook is given up; it can be redelivered');
    else if (next.state === 'stopped') log.info(facts, 'the receiver of a webhook wants it no more');
  };

  const drop = (entry: Kept): void => {
    kept.delete(entry.event.id);
    room.leave(entry);
  };

  const start = (entry: Kept): void => {
    entry.isSending = true;
    const sent = send(entry)
      .catch((error: unknown) => {
        // Nothing is written down: its lease ends, and it is sent again.
        if (!ended.signal.aborted)
          log.error({ err: error, eventId: entry.event.id }, 'sending a webhook failed');
      })
      .finally(() => {
        running.delete(sent);
        lanes.leave(entry);
        const wasFull = room.free === 0;
        drop(entry);
        startAll();
        if (wasFull) wake();
      });
    running.add(sent);
  };

  /** Starts what has waited, as far as the shares go. */
  const startAll = (): void => {
    const now = clock.now();
    for (const entry of kept.values()) {
      if (draining.signal.aborted || lanes.free === 0) return;
      if (entry.isSending) continue;
      if (entry.leaseUntil - now < timeoutMs + bookkeepingMs) drop(entry);
      else if (lanes.enter(entry)) start(entry);
    }
  };

  const keep = (event: WebhookEvent, leaseUntil: number): void => {
    const known = kept.get(event.id);
    // What is being sent is written down under the new lease too, as the owner is the same.
    if (known?.isSending === true) return;
    if (known !== undefined) drop(known);
    const entry = {
      event,
      leaseUntil,
      isSending: false,
      host: URL.parse(event.url)?.host ?? '',
      accountId: event.accountId,
    };
    if (room.enter(entry)) kept.set(event.id, entry);
  };

  /** Whether there may be more. */
  const claimBatch = async (): Promise<boolean> => {
    const limit = Math.min(batch, room.free);
    if (limit === 0) return false;
    const now = clock.now();
    const leaseUntil = now + leaseMs;
    const events = await store.claimWebhooks({ owner, leaseUntil, limit, now });
    for (const event of events) keep(event, leaseUntil);
    startAll();
    return events.length === limit;
  };

  const claimAll = async (): Promise<void> => {
    try {
      for (let count = 0; count < maxBatches && !draining.signal.aborted; count += 1) {
        if (!(await claimBatch())) return;
      }
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

  const claimAgainAndAgain = async (): Promise<void> => {
    while (!draining.signal.aborted) {
      isWoken = false;
      await claimAll();
      await untilWoken();
    }
  };

  return {
    begin: () => {
      claiming = claimAgainAndAgain();
    },
    wake,
    drain: async (timeoutMs) => {
      draining.abort();
      wake();
      await claiming;
      await Promise.race([Promise.allSettled(running), pause(timeoutMs)]);
      ended.abort(new Error('the process is ending'));
      await Promise.race([Promise.allSettled(running), pause(lastWordsMs)]);
    },
  };
};

/** Any 2xx ends it, 410 stops it, everything else is tried again while there are attempts left. */
const nextState = ({
  answer,
  attempt,
  now,
  random,
}: {
  answer: WebhookAnswer;
  attempt: number;
  now: number;
  random: number;
}): Pick<WebhookAttemptInput, 'state' | 'nextAttemptAt'> => {
  if (answer.failure === null) return { state: 'delivered', nextAttemptAt: null };
  if (answer.httpStatus === 410) return { state: 'stopped', nextAttemptAt: null };
  const delay = delayAfter(attempt, random);
  return delay === null
    ? { state: 'exhausted', nextAttemptAt: null }
    : { state: 'pending', nextAttemptAt: now + delay };
};
