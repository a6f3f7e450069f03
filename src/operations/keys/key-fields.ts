import { z } from 'zod';
import { amountText } from '../../kit/settings.ts';
import { formatUsd, parseUsd, type Nano } from '../../kit/money.ts';
import { instant } from '../account/get-usage.ts';
import { idField } from '../id-field.ts';
import { forRest } from '../schema-marks.ts';
import { refuseInput } from '../../media/stream-input.ts';
import { checkWebhookUrl } from '../webhook-url.ts';
import type { LimitChanges } from '../../rules/key-limits.ts';
import type { Services } from '../call.ts';
import type { Caller } from '../../accounts/authenticate.ts';

const wrongAmount = 'must be US dollars above zero with at most nine decimals, such as "12.50"';
/** Fits the integers of the store. */
const maxBudget = parseUsd('1000000000');

const budget = amountText.transform((text, context): Nano => {
  const amount = /^\d{1,10}(?:\.\d{1,9})?$/.test(text) ? parseUsd(text) : 0n;
  if (amount > 0n && amount <= maxBudget) return amount;
  const message = amount > 0n ? `must be at most ${formatUsd(maxBudget)}` : wrongAmount;
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

export const labelField = z
  .string()
  .max(100)
  .regex(/^\P{Cc}*$/u, 'must be one line of plain text')
  .describe('Your name for the key.');

/** The limits of a key as customers and operators write them. */
export const limitFields = {
  expires_at: forRest(instant, { format: 'date-time' })
    .nullish()
    .describe('From then on the key is refused. Null: never.'),
  models: z
    .array(z.string().min(1).max(128))
    .min(1)
    .max(100)
    .nullish()
    .describe('The SKUs that the key can buy. Null: all of the account.'),
  budget_day_usd: budget
    .nullish()
    .describe('The most that it may spend in a UTC day, as a decimal string. Null: no limit.'),
  budget_month_usd: budget.nullish().describe('As budget_day_usd, in a UTC month.'),
  budget_total_usd: budget.nullish().describe('As budget_day_usd, in all.'),
  alert_url: z
    .string()
    .min(1)
    .max(2_048)
    .nullish()
    .describe('Public HTTPS address that is told when 80 % and 100 % of a budget are spent, signed.'),
};

export const keyIdField = idField.max(128).describe('The id of a key.');

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
    budgetTotal: written.budget_total_usd,
    alertUrl,
  };
};

/** The services of an operation that makes or changes a key. */
export type KeyServices = Pick<Services, 'store' | 'catalogs' | 'clock' | 'config'>;

/** Reads limits as a customer writes them. A key may name the SKUs of its account. */
export const readOwnLimits = (
  written: WrittenLimits,
  caller: Caller,
  { catalogs, clock, config }: Pick<Services, 'catalogs' | 'clock' | 'config'>,
): LimitChanges => {
  const models = catalogs.for(caller).list();
  return readLimits(written, {
    skus: models.map(({ sku }) => sku),
    allowsLoopback: config.allowsLoopbackUrls,
    now: clock.now(),
  });
};
