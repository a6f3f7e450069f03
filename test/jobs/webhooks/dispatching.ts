import { randomUUID } from 'node:crypto';
import { onTestFinished, vi } from 'vitest';
import type { Clock } from '../../../src/kit/clock.ts';
import { silentLog } from '../../../src/kit/log.ts';
import type { Store, WebhookEvent } from '../../../src/store/store.ts';
import {
  createWebhookDispatcher,
  type WebhookDispatcher,
  type WebhookDispatcherOptions,
} from '../../../src/jobs/webhooks/webhook-dispatcher.ts';
import { openOutbound } from '../../http/local-hosts.ts';
import type { TestStore } from '../../store/open-test-store.ts';
import { addAccount, finishing, opening, openJob, runningJob, type Owner } from '../../store/builders.ts';
import { ensureWebhookSecret } from '../../../src/jobs/webhooks/webhook-secrets.ts';

/** A clock that stands, at first at the true time, until the test moves it. */
export interface MovableClock extends Clock {
  moveTo(time: number): void;
}

export const standingClock = (): MovableClock => {
  let now = Date.now();
  return {
    now: () => now,
    moveTo: (time) => {
      now = time;
    },
  };
};

export interface Customer {
  owner: Owner;
  /** The account's current signing secret. */
  secret: string;
}

export const addCustomer = async (store: Store): Promise<Customer> => {
  const owner = await addAccount(store, { balance: 1_000_000n });
  const { current } = await ensureWebhookSecret(store, owner.accountId);
  return { owner, secret: current };
};

/** Ends an image job whose end is announced at `url`; answers the id of the event and its body. */
export const addEvent = async (
  store: Store,
  { owner, url, now }: { owner: Owner; url: string; now: number },
): Promise<{ eventId: string; body: string }> => {
  const id = await openJob(
    store,
    opening(runningJob(owner, { kind: 'image', webhookUrl: url, leaseUntil: now + 30_000 }), { now }),
  );
  const eventId = randomUUID();
  const body = JSON.stringify({ event_id: eventId, id, status: 'done', custom_data: { who: 'Zoë 🎨' } });
  const finished = await store.finishJob(finishing(id, { webhook: { eventId, body }, now }));
  if (finished.outcome !== 'finished') throw new Error('the job was not finished');
  return { eventId, body };
};

/** A dispatcher at work, without jitter and with a short pause between two looks, that goes with the test. */
export const startDispatcher = (
  options: Pick<WebhookDispatcherOptions, 'store' | 'clock'> & Partial<WebhookDispatcherOptions>,
): WebhookDispatcher => {
  const dispatcher = createWebhookDispatcher({
    outbound: openOutbound(),
    log: silentLog,
    brand: 'causeway',
    timeoutMs: 60_000,
    pollMs: 20,
    random: () => 0.5,
    ...options,
  });
  onTestFinished(() => dispatcher.drain(0));
  dispatcher.begin();
  return dispatcher;
};

/** The event once it is so. */
export const untilEvent = (
  store: Store,
  eventId: string,
  isSo: (event: WebhookEvent) => boolean,
): Promise<WebhookEvent> =>
  vi.waitFor(
    async () => {
      const event = await store.getWebhook(eventId);
      if (event === null || !isSo(event)) throw new Error(`not yet: ${JSON.stringify(event)}`);
      return event;
    },
    { timeout: 60_000, interval: 10 },
  );

/** Ends what a test left undelivered, so that no dispatcher of the next one sends it. */
export const stopAll = async ({ sql }: TestStore): Promise<void> => {
  await sql(`update webhook_events set state = 'stopped', next_attempt_at = null, lease_owner = null, lease_until = null
    where state = 'pending'`);
};

export const isDelivered = ({ state }: WebhookEvent): boolean => state === 'delivered';
