import { randomBytes } from 'node:crypto';

export const webhookSecretPrefix = 'whsec_';

/** A new signing secret: `whsec_` and 32 random bytes in base64. */
export const newWebhookSecret = (): string => `${webhookSecretPrefix}${randomBytes(32).toString('base64')}`;
