import type { z } from 'zod';
import { refuseInput } from '../../media/stream-input.ts';
import { checkWebhookUrl } from '../webhook-url.ts';
import type { limitFields } from './key-fields.ts';
import type { LimitChanges } from '../../rules/key-limits.ts';

export type WrittenLimits = { [Field in keyof typeof limitFields]?: z.output<(typeof limitFields)[Field]> };

interface Known {
  /** The SKUs that a key may name. */
  skus: readonly string[];
  allowsLoopback: boolean;
  now: number;
}

/** Returns the limits that are given, where null removes one. Throws AppError 422 on one that cannot be. */
export const readLimits = (written: WrittenLimits, { skus, allowsLoopback, now }: Known): LimitChanges => {
  const { expires_at: expiresAt, models, alert_url: alertUrl } = written;
  if (typeof expiresAt === 'number' && expiresAt <= now)
    throw refuseInput('expires_at', 'must be in the future');
  const unknown = models?.find((sku) => !skus.includes(sku));
  if (unknown !== undefined)
    throw refuseInput('models', `${JSON.stringify(unknown)} is not a SKU that this key can buy`);
  checkWebhookUrl(alertUrl, { allowsLoopbackUrls: allowsLoopback }, 'alert_url');
  return {
    expiresAt,
    models,
    budgetDay: written.budget_day_usd,
    budgetMonth: written.budget_month_usd,
    alertUrl,
  };
};
