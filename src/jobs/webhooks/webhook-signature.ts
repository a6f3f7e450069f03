import { createHmac } from 'node:crypto';
import { brandTitle } from '../../kit/text.ts';
import type { WebhookSecrets } from '../../store/store.ts';
import { webhookSecretPrefix } from './ensure-webhook-secret.ts';

export interface WebhookToSign {
  brand: string;
  eventId: string;
  /** The exact body that is sent. */
  body: string;
  secrets: WebhookSecrets;
  /** Epoch milliseconds. The signed timestamp is in whole seconds. */
  now: number;
}

/**
 * Makes the signature headers in both forms (docs/contract.md, "Webhooks"). The key of `X-<Brand>-Signature` is the
 * whole text of the secret. The key of the three headers of Standard Webhooks is the decoded base64 part of the secret.
 * During a rotation both secrets sign.
 */
export const signWebhook = ({
  brand,
  eventId,
  body,
  secrets,
  now,
}: WebhookToSign): Record<string, string> => {
  const timestamp = Math.floor(now / 1_000);
  const keys = validSecrets(secrets, now);
  const own = keys.map((secret) => `v1=${hmac(secret, `${timestamp}.${body}`).toString('hex')}`);
  const standard = keys.map(
    (secret) => `v1,${hmac(toKeyBytes(secret), `${eventId}.${timestamp}.${body}`).toString('base64')}`,
  );
  return {
    [`X-${brandTitle({ brand })}-Signature`]: [`t=${timestamp}`, ...own].join(','),
    'webhook-id': eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': standard.join(' '),
  };
};

const validSecrets = ({ current, previous }: WebhookSecrets, now: number): string[] =>
  previous !== null && now < previous.until ? [current, previous.secret] : [current];

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

const toKeyBytes = (secret: string): Buffer =>
  Buffer.from(secret.slice(webhookSecretPrefix.length), 'base64');
