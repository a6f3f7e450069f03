import { randomBytes } from 'node:crypto';
import type { Store, WebhookSecrets } from '../store/store.ts';

export const webhookSecretPrefix = 'whsec_';

/** A new signing secret: `whsec_` and 32 random bytes in base64. */
export const newWebhookSecret = (): string => `${webhookSecretPrefix}${randomBytes(32).toString('base64')}`;

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
