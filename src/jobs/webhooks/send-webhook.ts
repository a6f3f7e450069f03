import { brandTitle } from '../../kit/text.ts';
import { OutboundError, type Outbound } from '../../http/outbound.ts';
import { retryAfterMs } from '../../http/send-request.ts';
import type { WebhookEvent, WebhookSecrets } from '../../store/store.ts';
import { signWebhook } from './webhook-signature.ts';

export interface WebhookAnswer {
  /** Null if no answer came. */
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
  /** Time limit for the connection and the receiver's answer. */
  timeoutMs: number;
  signal: AbortSignal;
}

/**
 * Posts an event once, signed with the time `now`. Returns the receiver's answer, or null if this process had no free
 * slot to send it. Throws the signal's reason.
 */
export const sendWebhook = async (
  event: WebhookEvent,
  { outbound, brand, secrets, now, timeoutMs, signal }: SendOptions,
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
