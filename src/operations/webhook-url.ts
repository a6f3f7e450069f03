import { AppError } from '../kit/errors.ts';
import { refuseInput } from '../media/stream-input.ts';
import { ensureWebhookSecret } from '../jobs/webhooks/webhook-secrets.ts';
import type { WebhookSettings } from '../jobs/webhooks/webhook-settings.ts';
import type { Services } from './call.ts';
import type { Caller } from '../accounts/authenticate.ts';
import { checkUrl } from '../http/check-url.ts';
import { OutboundError } from '../http/outbound.ts';

export const maxUrlCharacters = 2_048;

/**
 * Returns a sentence for the customer if a `webhook_url` is refused, else null. Does not resolve the host: every
 * delivery checks the address that it connects to.
 */
export const webhookTargetProblem = (
  url: string,
  { allowsLoopback }: { allowsLoopback: boolean },
): string | null => {
  if (url.length > maxUrlCharacters) return `The URL is longer than ${maxUrlCharacters} characters.`;
  try {
    checkUrl(url, { allowsLoopback });
    return null;
  } catch (error) {
    if (error instanceof OutboundError) return error.message;
    throw error;
  }
};

/** The `Retry-After` of a refusal while callbacks are switched off. */
const webhookRetrySeconds = 60;

/** Refuses an address that a callback cannot be sent to. `param` is the field that has it. */
export const checkWebhookUrl = (
  url: string | null | undefined,
  { allowsLoopbackUrls: allowsLoopback }: Pick<WebhookSettings, 'allowsLoopbackUrls'>,
  param = 'webhook_url',
): void => {
  if (typeof url !== 'string') return;
  const problem = webhookTargetProblem(url, { allowsLoopback });
  if (problem !== null) throw refuseInput(param, problem);
};

/** Refuses a callback while they are switched off. */
export const assertWebhooks = (
  webhookUrl: string | null | undefined,
  { acceptsWebhooks }: Pick<WebhookSettings, 'acceptsWebhooks'>,
  param = 'webhook_url',
): void => {
  if (typeof webhookUrl === 'string' && !acceptsWebhooks)
    throw new AppError(
      'webhook_temporarily_unavailable',
      `${param}: callbacks are not available now. Leave them out, and read jobs with GET /v1/jobs/{id}.`,
      { param, retryAfterSeconds: webhookRetrySeconds },
    );
};

/** Creates the account's webhook secret when a callback is requested. */
export const prepareWebhook = async (
  webhookUrl: string | null | undefined,
  { accountId }: Caller,
  { config, store }: Pick<Services, 'config' | 'store'>,
): Promise<void> => {
  if (typeof webhookUrl !== 'string') return;
  assertWebhooks(webhookUrl, config);
  await ensureWebhookSecret(store, accountId);
};
