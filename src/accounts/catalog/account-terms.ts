import { z } from 'zod';
import { canonicalJson, type JsonObject } from '../../kit/json.ts';
import { type ModelConfig, pricedBy, priceSchema, toPricing, type Price } from './model.ts';

/** Invalid terms. The message is one line for the operator. */
export class AccountTermsError extends Error {
  override readonly name = 'AccountTermsError';
}

const maxSkus = 1_000;
/** Limited, because every look-up of a key also reads the text. */
const maxCharacters = 65_536;
const skuSchema = z.string().min(1).max(128);

export const termsSchema = z
  .strictObject({
    models: z
      .array(skuSchema)
      .max(maxSkus)
      .refine((models) => new Set(models).size === models.length, { message: 'names a SKU twice' })
      .optional(),
    prices: z
      .record(skuSchema, priceSchema)
      .refine((prices) => Object.keys(prices).length <= maxSkus, {
        message: `has more than ${maxSkus} prices`,
      })
      .optional(),
    active_videos: z.int().min(1).max(10_000).optional(),
    requests_per_minute: z.int().min(1).max(1_000_000).optional(),
  })
  .transform(
    ({ models: skus, prices, active_videos: activeVideos, requests_per_minute: requestsPerMinute }) => ({
      skus: skus === undefined ? null : new Set(skus),
      /** By SKU. Each replaces the gateway's whole price. */
      prices: new Map(Object.entries(prices ?? {})),
      activeVideos: activeVideos ?? null,
      requestsPerMinute: requestsPerMinute ?? null,
    }),
  );

/** Terms that an operator agreed with one account. For an absent member the gateway's own settings apply. */
export type AccountTerms = z.output<typeof termsSchema>;

/**
 * Reads the stored text of an account's terms (`Account.terms`). Throws AccountTermsError if any part is unknown, such
 * as a member that a newer version wrote: partly understood terms could mean a wrong price.
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

/** Reads terms from an operator's file or the store. Throws AccountTermsError. */
export const readAccountTerms = (document: unknown): AccountTerms => {
  const parsed = termsSchema.safeParse(document);
  if (!parsed.success) throw new AccountTermsError(issueLine(parsed.error));
  return parsed.data;
};

const issueLine = ({ issues: [issue] }: z.ZodError): string =>
  [issue?.path.map(String).join('.'), issue?.message ?? 'is wrong'].filter(Boolean).join(': ');

/** Throws AccountTermsError unless every SKU is one of `models` and every price has a unit of its kind. */
export const checkAccountTerms = (terms: AccountTerms, models: readonly ModelConfig[]): void => {
  const kinds = new Map(models.map(({ sku, kind }) => [sku, kind]));
  const kindOf = (sku: string, member: string): ModelConfig['kind'] => {
    const kind = kinds.get(sku);
    if (kind === undefined)
      throw new AccountTermsError(
        `${member}: there is no SKU ${JSON.stringify(sku)}; known SKUs are ${[...kinds.keys()].join(', ')}`,
      );
    return kind;
  };
  for (const sku of terms.skus ?? []) kindOf(sku, 'models');
  for (const [sku, price] of terms.prices) assertPricedBy({ sku, kind: kindOf(sku, 'prices') }, price);
};

/** Throws AccountTermsError if a SKU of this kind cannot have the price's unit. */
export const assertPricedBy = ({ sku, kind }: Pick<ModelConfig, 'sku' | 'kind'>, price: Price): void => {
  if (!pricedBy[kind].includes(price.unit))
    throw new AccountTermsError(
      `prices.${sku}.unit: a SKU of kind ${kind} is priced by ${pricedBy[kind].join(' or ')}`,
    );
};

/** Equal terms give equal text; amounts are decimal strings. Throws AccountTermsError if it is too long. */
export const toTermsText = (terms: AccountTerms): string => {
  const text = canonicalJson({
    models: terms.skus === null ? undefined : [...terms.skus],
    prices:
      terms.prices.size === 0
        ? undefined
        : Object.fromEntries([...terms.prices].map(([sku, price]) => [sku, toPriceDocument(price)])),
    active_videos: terms.activeVideos ?? undefined,
    requests_per_minute: terms.requestsPerMinute ?? undefined,
  });
  if (text.length > maxCharacters)
    throw new AccountTermsError(`the terms have ${text.length} characters; the limit is ${maxCharacters}`);
  return text;
};

/** Writes a price in the form of terms and causeway.yaml, which have no currency and leave out what is not sold. */
export const toPriceDocument = (price: Price): JsonObject =>
  JSON.parse(
    JSON.stringify(toPricing(price), (name, value: unknown) =>
      name === 'currency' || value === null ? undefined : value,
    ),
  );
