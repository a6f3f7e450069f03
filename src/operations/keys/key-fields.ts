import { z } from 'zod';
import { amountText } from '../../kit/settings.ts';
import { formatUsd, parseUsd, type Nano } from '../../kit/money.ts';
import { nearestName } from '../../kit/text.ts';
import { instant } from '../account/get-usage.ts';
import { idField } from '../id-field.ts';
import { forRest } from '../schema-marks.ts';
import { refuseInput } from '../../media/stream-input.ts';
import { checkWebhookUrl } from '../webhook-url.ts';
import type { MountConfig } from '../../mounts/mount-settings.ts';
import { mayOffer, publicName, shownName } from '../../mounts/public-name.ts';
import type { Store } from '../../store/store.ts';
import type { LimitChanges } from '../../rules/key-limits.ts';
import type { Services } from '../call.ts';
import { usageTagRule, usageTagText } from '../../accounts/usage-tags.ts';
import type { Caller } from '../../accounts/authenticate.ts';

/** Fits the integers of the store. */
const maxBudget = parseUsd('1000000000');

export const amountFrom = (least: 0n | 1n) =>
  amountText.transform((text, context): Nano => {
    const amount = /^\d{1,10}(?:\.\d{1,9})?$/.test(text) ? parseUsd(text) : -1n;
    if (amount >= least && amount <= maxBudget) return amount;
    const above = least === 0n ? '' : ' above zero';
    const message =
      amount > maxBudget
        ? `must be at most ${formatUsd(maxBudget)}`
        : `must be US dollars${above} with at most nine decimals, such as "12.50"`;
    context.addIssue(message);
    return z.NEVER;
  });
const budget = amountFrom(1n);

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
    .describe('The SKUs that the key can buy. Null: all of the account, or none if it has `tools`.'),
  tools: z
    .array(z.string().min(1).max(64))
    .min(1)
    .max(100)
    .nullish()
    .describe('The servers and tools (`files__read`) that it can call. Null: all, or none with `models`.'),
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
  usage_tag: z
    .string()
    .regex(usageTagText, usageTagRule)
    .nullish()
    .describe('Its use is counted under this tag where a call has no X-Usage-Tag. Null: under none.'),
};

export const askAboveField = amountFrom(0n)
  .nullish()
  .describe('A call that may cost more waits until the person confirms it. Null: no call does.');

export const keyIdField = idField.max(128).describe('The id of a key.');

export type WrittenLimits = { [Field in keyof typeof limitFields]?: z.output<(typeof limitFields)[Field]> };

interface Known {
  /** The SKUs that a key may name. */
  skus: readonly string[];
  /** The servers and tools that a key may name. */
  tools: readonly string[];
  allowsLoopback: boolean;
  now: number;
}

/** Returns the limits that are given, where null removes one. Throws AppError 422 on one that cannot be. */
export const readLimits = (written: WrittenLimits, known: Known): LimitChanges => {
  const { skus, allowsLoopback, now } = known;
  const { expires_at: expiresAt, models, tools, alert_url: alertUrl } = written;
  if (typeof expiresAt === 'number' && expiresAt <= now)
    throw refuseInput('expires_at', 'must be in the future');
  const unknown = models?.find((sku) => !skus.includes(sku));
  if (unknown !== undefined)
    throw refuseInput('models', `${JSON.stringify(unknown)} is not a SKU that this key can buy`);
  const misspelt = tools?.find((name) => !known.tools.includes(name));
  if (misspelt !== undefined) {
    const meant = nearestName(misspelt, known.tools, 2);
    const advice = meant === null ? 'see GET /v1/tools' : `did you mean ${meant}?`;
    throw refuseInput(
      'tools',
      `${JSON.stringify(misspelt)} is no mounted server or accepted tool; ${advice}`,
    );
  }
  checkWebhookUrl(alertUrl, { allowsLoopbackUrls: allowsLoopback }, 'alert_url');
  return {
    expiresAt,
    models,
    tools,
    budgetDay: written.budget_day_usd,
    budgetMonth: written.budget_month_usd,
    budgetTotal: written.budget_total_usd,
    alertUrl,
    usageTag: written.usage_tag,
  };
};

/** The services of an operation that makes or changes a key. */
export type KeyServices = Pick<Services, 'store' | 'catalogs' | 'clock' | 'config'>;

/** Returns the names that `tools` of a key may have: those of mounted servers, and of their accepted tools. */
export const toolsToName = async (
  mounts: readonly Pick<MountConfig, 'name' | 'allow' | 'hide' | 'tools'>[],
  store: Pick<Store, 'listAcceptedPins'>,
): Promise<string[]> => {
  const accepted = await store.listAcceptedPins(undefined);
  return mounts.flatMap((config) => [
    config.name,
    ...accepted
      .filter(({ server, tool }) => server === config.name && mayOffer(config, tool))
      .map(({ tool }) => publicName(config.name, shownName(config, tool))),
  ]);
};

/** Reads limits as a customer writes them. A key may name the SKUs of its account. */
export const readOwnLimits = async (
  written: WrittenLimits,
  caller: Caller,
  { catalogs, clock, config, store }: KeyServices,
): Promise<LimitChanges> => {
  const models = catalogs.for(caller).list();
  return readLimits(written, {
    skus: models.map(({ sku }) => sku),
    tools: await toolsToName(config.mounts, store),
    allowsLoopback: config.allowsLoopbackUrls,
    now: clock.now(),
  });
};
