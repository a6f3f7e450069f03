import { brandTitle } from '../../kit/text.ts';
import { OutboundError, type Outbound } from '../../http/outbound.ts';
import { retryAfterMs } from '../../http/send-request.ts';
import type { WebhookEvent, WebhookSecrets } from '../../store/store.ts';
import { createHmac } from 'node:crypto';
import { webhookSecretPrefix } from './webhook-secrets.ts';

export interface WebhookAnswer {
  httpStatus: number | null;
  /** A short reason code such as `timeout` or `http_500`; null if it was acknowledged. */
  failure: string | null;
  /** The wait that the receiver asked for, with status 429 or 503. */
  retryAfterMs?: number | undefined;
}

export interface SendOptions {
  outbound: Outbound;
  brand: string;
  secrets: WebhookSecrets;
  now: number;
  timeoutMs: number;
  /** The address is the operator's own. */
  isOwn?: boolean | undefined;
  signal: AbortSignal;
}

/** Returns the answer, or null if this process had no free slot to send it. Throws the signal's reason. */
export const sendWebhook = async (
  event: WebhookEvent,
  { outbound, brand, secrets, now, timeoutMs, isOwn, signal }: SendOptions,
): Promise<WebhookAnswer | null> => {
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': `${brandTitle({ brand })}-Webhooks/1`,
    ...signWebhook({ brand, eventId: event.id, body: event.body, secrets, now }),
  };
  try {
    const { status, retryAfter } = await outbound.post(event.url, {
      body: event.body,
      headers,
      totalMs: timeoutMs,
      isOwn,
      signal,
    });
    const isAcknowledged = status >= 200 && status <= 299;
    const isBusy = status === 429 || status === 503;
    return {
      httpStatus: status,
      failure: isAcknowledged ? null : `http_${status}`,
      retryAfterMs: isBusy ? retryAfterMs(retryAfter, now) : undefined,
    };
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return error.failure === 'busy' ? null : { httpStatus: null, failure: error.failure };
  }
};

/**
 * Makes the signature headers in both forms (docs/contract.md, "Webhooks"). The key of `X-<Brand>-Signature` is the
 * whole text of the secret. The key of the three headers of Standard Webhooks is the decoded base64 part of the secret.
 * During a rotation both secrets sign.
 */
export const signWebhook = (event: {
  brand: string;
  eventId: string;
  body: string;
  secrets: WebhookSecrets;
  /** Epoch milliseconds. The signed timestamp is in whole seconds. */
  now: number;
}): Record<string, string> => {
  const { brand, eventId, body, secrets, now } = event;
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
