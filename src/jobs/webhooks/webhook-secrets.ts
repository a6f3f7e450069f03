import { randomBytes } from 'node:crypto';
import type { Store, WebhookSecrets } from '../../store/store.ts';
import type { Clock } from '../../kit/clock.ts';

export const webhookSecretPrefix = 'whsec_';

/** Makes a signing secret: `whsec_` and 32 random bytes in base64. */
export const newWebhookSecret = (): string => `${webhookSecretPrefix}${randomBytes(32).toString('base64')}`;

/** Returns the account's webhook secrets. Makes the first one if needed. Throws if there is no such account. */
export const ensureWebhookSecret = async (
  store: Pick<Store, 'getWebhookSecrets' | 'ensureWebhookSecret'>,
  accountId: string,
): Promise<WebhookSecrets> => {
  const secrets =
    (await store.getWebhookSecrets(accountId)) ??
    (await store.ensureWebhookSecret({ accountId, secret: newWebhookSecret() }));
  if (secrets === null) throw new Error(`cannot sign a webhook: there is no account ${accountId}`);
  return secrets;
};

const overlapMs = 24 * 3_600_000;

/**
 * Gives the account a new signing secret. The previous one also signs for 24 hours, so that receivers have time to
 * change. While one does, nothing changes, so that a repeated call ends no secret; with `again` the oldest ends now. Null if
 * there is no such account.
 */
export const rotateWebhookSecret = (
  { store, clock }: { store: Pick<Store, 'rotateWebhookSecret'>; clock: Clock },
  accountId: string,
  { again }: { again: boolean },
): Promise<WebhookSecrets | null> => {
  const now = clock.now();
  const previousUntil = now + overlapMs;
  return store.rotateWebhookSecret({
    accountId,
    secret: newWebhookSecret(),
    previousUntil,
    ...(again ? {} : { now }),
  });
};
