import type { DueWebhook, Store, WebhookEvent } from '../../src/store/store.ts';

/** What the first look at due webhook events finds: all of them where there are few receivers. */
export const listDueWebhooks = async (store: Store, now: number): Promise<DueWebhook[]> =>
  (await store.listDueWebhooks({ now, after: '', places: [] })).due;

/** Claims up to `limit` webhook events that are due, from the heads of the receivers' queues inward. */
export const claimDueWebhooks = async (
  store: Store,
  {
    limit,
    now,
    owner,
    leaseUntil,
  }: Pick<Parameters<Store['claimWebhooks']>[0], 'now' | 'owner' | 'leaseUntil'> & { limit: number },
): Promise<WebhookEvent[]> => {
  const claimed: WebhookEvent[] = [];
  while (claimed.length < limit) {
    const due = await listDueWebhooks(store, now);
    if (due.length === 0) break;
    const ids = due.slice(0, limit - claimed.length).map(({ id }) => id);
    claimed.push(...(await store.claimWebhooks({ owner, leaseUntil, ids, now })));
  }
  return claimed;
};
