import type { Clock } from '../../kit/clock.ts';
import type { Store, WebhookSecrets } from '../../store/store.ts';
import { newWebhookSecret } from './ensure-webhook-secret.ts';

const overlapMs = 24 * 3_600_000;

/**
 * Gives the account a new signing secret. The previous one also signs for 24 hours, so that receivers have time to
 * change. An older one ends now. Null if there is no such account.
 */
export const rotateWebhookSecret = (
  { store, clock }: { store: Pick<Store, 'rotateWebhookSecret'>; clock: Clock },
  accountId: string,
): Promise<WebhookSecrets | null> =>
  store.rotateWebhookSecret({
    accountId,
    secret: newWebhookSecret(),
    previousUntil: clock.now() + overlapMs,
  });
