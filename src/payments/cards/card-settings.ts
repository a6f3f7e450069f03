import { z } from 'zod';
import { ConfigError } from '../../kit/errors.ts';
import { secret, type VariableValues } from '../../kit/settings.ts';

export const cardVariables = {
  STRIPE_SECRET_KEY: secret(
    z.string().regex(/^(?:sk|rk)_(?:live|test)_\w+$/, 'must be a key of Stripe (sk_…)'),
  )
    .optional()
    .describe(
      'sells [top-ups by card](operators-payments.md#cards); with a test key (`sk_test_…`) they are sandbox credit',
    ),
  STRIPE_WEBHOOK_SECRET: secret(
    z.string().regex(/^whsec_\w+$/, 'must be a signing secret of Stripe (whsec_…)'),
  )
    .optional()
    .describe('the signing secret of the webhook at Stripe'),
};

/** May also stand in files. */
export const cardSecretNames = ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'] as const;

export interface CardSettings {
  secretKey: string;
  webhookSecret: string;
  /** False: test money, which is sandbox credit. */
  isLive: boolean;
}

/** Returns null if nothing is sold by card. Throws ConfigError with one line that names the setting. */
export const readCardSettings = ({
  STRIPE_SECRET_KEY: secretKey,
  STRIPE_WEBHOOK_SECRET: webhookSecret,
}: VariableValues<typeof cardVariables>): CardSettings | null => {
  if (secretKey === undefined && webhookSecret === undefined) return null;
  if (secretKey === undefined)
    throw new ConfigError('STRIPE_SECRET_KEY: is needed with STRIPE_WEBHOOK_SECRET');
  if (webhookSecret === undefined)
    throw new ConfigError('STRIPE_WEBHOOK_SECRET: is needed with STRIPE_SECRET_KEY');
  return { secretKey, webhookSecret, isLive: secretKey.includes('_live_') };
};
