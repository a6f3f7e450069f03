import { z } from 'zod';
import { canonicalJson, type JsonObject } from '../kit/json.ts';
import { formatRate, formatUsd } from '../kit/money.ts';
import type { ModelConfig } from './model.ts';
import { pricedBy, priceSchema, type Price } from './price.ts';

/** What an operator agreed with one account; every absent member leaves the gateway's own in force. */
export interface AccountTerms {
  /** The enabled SKUs; null: all. */
  skus: ReadonlySet<string> | null;
  /** Whole prices in the place of the gateway's, by SKU. */
  prices: ReadonlyMap<string, Price>;
  /** Videos that may be queued or running. */
  activeVideos: number | null;
  /** Calls in a minute. */
  requestsPerMinute: number | null;
}

/** Terms that cannot be used; the message is one line for the operator. */
export class AccountTermsError extends Error {
  override readonly name = 'AccountTermsError';
}

const mostSkus = 1_000;
/** The text comes along whenever a key is looked up. */
const longestText = 65_536;
const skuSchema = z.string().min(1).max(128);

const termsSchema = z.strictObject({
  skus: z
    .array(skuSchema)
    .max(mostSkus)
    .refine((skus) => new Set(skus).size === skus.length, { message: 'names a SKU twice' })
    .optional(),
  prices: z
    .record(skuSchema, priceSchema)
    .refine((prices) => Object.keys(prices).length <= mostSkus, {
      message: `has more than ${mostSkus} prices`,
    })
    .optional(),
  active_videos: z.int().min(1).max(10_000).optional(),
  requests_per_minute: z.int().min(1).max(1_000_000).optional(),
});

/**
 * Reads the stored text of an account's terms (`Account.terms`). Throws AccountTermsError on anything that is not
 * understood whole, such as a member that a newer version wrote: half-understood terms would sell at a wrong price.
 */
export const parseAccountTerms = (text: string): AccountTerms => {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new AccountTermsError('the terms are not JSON', { cause });
  }
  return readAccountTerms(document);
};

/** Reads a document of terms, of an operator's file or of the store. Throws AccountTermsError. */
export const readAccountTerms = (document: unknown): AccountTerms => {
  const parsed = termsSchema.safeParse(document);
  if (!parsed.success) throw new AccountTermsError(issueLine(parsed.error));
  const { skus, prices, active_videos: activeVideos, requests_per_minute: requestsPerMinute } = parsed.data;
  return {
    skus: skus === undefined ? null : new Set(skus),
    prices: new Map(Object.entries(prices ?? {})),
    activeVideos: activeVideos ?? null,
    requestsPerMinute: requestsPerMinute ?? null,
  };
};

const issueLine = (error: z.ZodError): string => {
  const [issue] = error.issues;
  const path = issue?.path.map(String).join('.') ?? '';
  return `${path === '' ? '' : `${path}: `}${issue?.message ?? 'is wrong'}`;
};

/** Throws AccountTermsError unless every SKU is one of `models` and every price has a unit that its kind is sold by. */
export const checkAccountTerms = (terms: AccountTerms, models: readonly ModelConfig[]): void => {
  const kinds = new Map(models.map(({ sku, kind }) => [sku, kind]));
  const kindOf = (sku: string, member: string): ModelConfig['kind'] => {
    const kind = kinds.get(sku);
    if (kind === undefined)
      throw new AccountTermsError(
        `${member}: there is no SKU ${JSON.stringify(sku)}; there are ${[...kinds.keys()].join(', ')}`,
      );
    return kind;
  };
  for (const sku of terms.skus ?? []) kindOf(sku, 'skus');
  for (const [sku, price] of terms.prices) assertPricedBy({ sku, kind: kindOf(sku, 'prices') }, price);
};

/** Throws AccountTermsError when a SKU of this kind is not sold by the price's unit. */
export const assertPricedBy = ({ sku, kind }: Pick<ModelConfig, 'sku' | 'kind'>, price: Price): void => {
  if (!pricedBy[kind].includes(price.unit))
    throw new AccountTermsError(
      `prices.${sku}.unit: a SKU of kind ${kind} is priced by ${pricedBy[kind].join(' or ')}`,
    );
};

/**
 * The text that the store keeps: equal terms give equal text, amounts are decimal strings. Throws AccountTermsError
 * when it is too long.
 */
export const toTermsText = (terms: AccountTerms): string => {
  const text = canonicalJson({
    skus: terms.skus === null ? undefined : [...terms.skus],
    prices:
      terms.prices.size === 0
        ? undefined
        : Object.fromEntries([...terms.prices].map(([sku, price]) => [sku, toPriceDocument(price)])),
    active_videos: terms.activeVideos ?? undefined,
    requests_per_minute: terms.requestsPerMinute ?? undefined,
  });
  if (text.length > longestText)
    throw new AccountTermsError(`the terms take ${text.length} characters of at most ${longestText}`);
  return text;
};

/** A price as terms and causeway.yaml write it. */
const toPriceDocument = (price: Price): JsonObject => {
  switch (price.unit) {
    case 'call':
      return { unit: 'call', price_usd: formatUsd(price.price) };
    case 'token':
      return {
        unit: 'token',
        input_usd_per_1m: formatRate(price.input),
        output_usd_per_1m: formatRate(price.output),
      };
    case 'second':
      return {
        unit: 'second',
        rates: price.rates.map((rate) => ({
          resolution: rate.resolution,
          price_usd: formatUsd(rate.price),
          ...(rate.withVideoPrice === null ? {} : { with_video_price_usd: formatUsd(rate.withVideoPrice) }),
        })),
      };
  }
};
