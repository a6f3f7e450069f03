import { createHmac } from 'node:crypto';
import { brandTitle } from '../kit/brand-title.ts';
import type { WebhookSecrets } from '../store/store.ts';
import { webhookSecretPrefix } from './new-webhook-secret.ts';

export interface WebhookToSign {
  brand: string;
  eventId: string;
  /** The exact body that is sent. */
  body: string;
  secrets: WebhookSecrets;
  /** Epoch milliseconds; signed in whole seconds. */
  now: number;
}

/**
 * The headers that prove where a webhook comes from, in both forms (docs/contract.md, "Webhooks"): `X-<Brand>-Signature`,
 * whose key is the whole text of the secret, and the three of Standard Webhooks, whose key is what the secret holds in
 * base64. During a rotation both secrets sign in each.
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
