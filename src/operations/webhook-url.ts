import type { Caller } from '../accounts/caller.ts';
import { AppError } from '../kit/errors.ts';
import { refuseInput } from '../media/stream-input.ts';
import { ensureWebhookSecret } from '../jobs/webhooks/ensure-webhook-secret.ts';
import type { WebhookSettings } from '../jobs/webhooks/webhook-settings.ts';
import { webhookTargetProblem } from '../jobs/webhooks/webhook-target.ts';
import type { Services } from './call.ts';

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
): void => {
  if (typeof webhookUrl === 'string' && !acceptsWebhooks)
    throw new AppError(
      'webhook_temporarily_unavailable',
      'webhook_url: callbacks are not available now. Leave it out and read the job with GET /v1/jobs/{id}.',
      { param: 'webhook_url', retryAfterSeconds: webhookRetrySeconds },
    );
};

/** Creates the account's webhook secret when a callback is requested. */
export const prepareWebhook = async (
  webhookUrl: string | null | undefined,
  { accountId }: Caller,
  { config, store }: Services,
): Promise<void> => {
  if (typeof webhookUrl !== 'string') return;
  assertWebhooks(webhookUrl, config);
  await ensureWebhookSecret(store, accountId);
};
