import { toggle, type VariableValues } from '../../kit/settings.ts';

export const webhookVariables = {
  WEBHOOKS: toggle('on', 'off', 'on').describe(
    '`off` answers new jobs with a `webhook_url` with 503; due callbacks are still delivered',
  ),
  VIDEO_WEBHOOKS: toggle('on', 'off', 'off').describe(
    '`on` takes `webhook_url` for videos, too, which [the contract](contract.md#webhooks) refuses',
  ),
  ALLOW_LOOPBACK_URLS: toggle('true', 'false', 'false').describe(
    'for development: `true` lets callbacks, inputs and results be on this machine, over plain HTTP',
  ),
};

export type WebhookSettings = ReturnType<typeof readWebhookSettings>;

export const readWebhookSettings = (values: VariableValues<typeof webhookVariables>) => ({
  acceptsWebhooks: values.WEBHOOKS,
  takesVideoWebhooks: values.VIDEO_WEBHOOKS,
  allowsLoopbackUrls: values.ALLOW_LOOPBACK_URLS,
});
