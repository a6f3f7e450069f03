import type { Store, WebhookSecrets } from '../store/store.ts';
import { newWebhookSecret } from './new-webhook-secret.ts';

/** The secrets that sign the account's webhooks; its first one is made here. Throws when there is no such account. */
export const ensureWebhookSecret = async (
  store: Pick<Store, 'getWebhookSecrets' | 'ensureWebhookSecret'>,
  accountId: string,
): Promise<WebhookSecrets> => {
  const secrets =
    (await store.getWebhookSecrets(accountId)) ??
    (await store.ensureWebhookSecret({ accountId, secret: newWebhookSecret() }));
  if (secrets === null) throw new Error(`there is no account ${accountId} to sign webhooks of`);
  return secrets;
};
