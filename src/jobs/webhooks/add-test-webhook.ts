import { toIso, type Clock } from '../../kit/clock.ts';
import type { Store, WebhookEvent } from '../../store/store.ts';

/** Adds a test event that is due now, and is sent once. */
export const addTestWebhook = async (
  { store, clock }: { store: Pick<Store, 'addWebhook'>; clock: Clock },
  to: Pick<WebhookEvent, 'id' | 'accountId' | 'url'>,
): Promise<void> => {
  const now = clock.now();
  const body = JSON.stringify({ event_id: to.id, type: 'webhook.test', created_at: toIso(now) });
  await store.addWebhook({ ...to, event: 'webhook.test', jobId: null, body, now });
};
