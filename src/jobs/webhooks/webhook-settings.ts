import { z } from 'zod';
import { ConfigError } from '../../kit/errors.ts';
import { httpUrl, secret, toggle, type VariableValues } from '../../kit/settings.ts';

export const webhookVariables = {
  WEBHOOKS: toggle('on', 'off', 'on').describe(
    '`off`: new jobs with a `webhook_url` are 503; due callbacks are still delivered',
  ),
  VIDEO_WEBHOOKS: toggle('on', 'off', 'off').describe(
    '`on` takes `webhook_url` for videos, too, which [the contract](contract.md#webhooks) refuses',
  ),
  ALLOW_LOOPBACK_URLS: toggle('true', 'false', 'false').describe(
    '`true`, for development: callbacks, inputs and results may be on this machine, over plain HTTP',
  ),
  ALERT_WEBHOOK_URL: secret(httpUrl)
    .optional()
    .describe('gets the [alerts](operators-telemetry.md#alerts); it may be in your own network'),
  ALERT_WEBHOOK_SECRET: secret(
    z
      .string()
      .regex(/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/, 'must be whsec_ and at least 24 random bytes in base64'),
  )
    .optional()
    .describe('signs them as webhooks: `whsec_` and 32 random bytes in base64'),
};

/** Where the operator's alerts are sent. */
export interface AlertReceiver {
  url: string;
  secret: string;
}

export type WebhookSettings = ReturnType<typeof readWebhookSettings>;

/** Throws ConfigError. */
export const readWebhookSettings = (values: VariableValues<typeof webhookVariables>) => ({
  alerts: readAlerts(values),
  acceptsWebhooks: values.WEBHOOKS,
  takesVideoWebhooks: values.VIDEO_WEBHOOKS,
  allowsLoopbackUrls: values.ALLOW_LOOPBACK_URLS,
});

const readAlerts = ({
  ALERT_WEBHOOK_URL: url,
  ALERT_WEBHOOK_SECRET: secret,
}: VariableValues<typeof webhookVariables>): AlertReceiver | null => {
  if (url !== undefined && secret !== undefined) return { url, secret };
  if (url !== undefined)
    throw new ConfigError('ALERT_WEBHOOK_SECRET: is not set; ALERT_WEBHOOK_URL needs it');
  if (secret !== undefined)
    throw new ConfigError('ALERT_WEBHOOK_URL: is not set; ALERT_WEBHOOK_SECRET needs it');
  return null;
};
