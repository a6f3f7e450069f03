import type { Store, WebhookEvent } from '../../src/store/store.ts';

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
    const due = await store.listDueWebhooks(now);
    if (due.length === 0) break;
    const ids = due.slice(0, limit - claimed.length).map(({ id }) => id);
    claimed.push(...(await store.claimWebhooks({ owner, leaseUntil, ids, now })));
  }
  return claimed;
};
