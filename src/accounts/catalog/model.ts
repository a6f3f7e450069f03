import type { ModelKind, RouteConfig } from '../../providers/provider.ts';
import { z } from 'zod';
import { decimal, usdAmount } from '../../kit/settings.ts';
import type { JsonObject } from '../../kit/json.ts';
import { formatRate, formatUsd, parseRate } from '../../kit/money.ts';
import { videoResolutions } from '../../providers/video/video-provider.ts';

export interface ModelConfig {
  sku: string;
  /** `chat` SKUs serve chat completions and responses. */
  kind: ModelKind;
  price: Price;
  /** For chat SKUs: the most output tokens that its upstreams make in one call; null if the operator has not said. */
  maxOutputTokens: number | null;
  routes: SoldRoute[];
  duration: DurationRule | null;
}

/** `cost`: what the operator pays for it, in the units of a price; absent: unknown. */
export interface SoldRoute extends RouteConfig {
  cost?: Price | undefined;
}

export interface DurationRule {
  minimum: number;
  maximum: number;
  /** The default; null if the caller must name a length. */
  initial: number | null;
  /** True if the length -1 edits a reference video and keeps its length. */
  edits: boolean;
}

export const pricedBy: Record<ModelKind, readonly Price['unit'][]> = {
  chat: ['token', 'call'],
  image: ['call'],
  video: ['second'],
};

/** A price in `causeway.yaml` and in an account's own terms. */
export const priceSchema = z.discriminatedUnion('unit', [
  z
    .strictObject({
      unit: z.literal('token'),
      input_usd_per_1m: decimal(parseRate).describe('USD for a million prompt tokens'),
      output_usd_per_1m: decimal(parseRate).describe('USD for a million output tokens'),
    })
    .transform((price) => ({
      unit: price.unit,
      input: price.input_usd_per_1m,
      output: price.output_usd_per_1m,
    })),
  z
    .strictObject({
      unit: z.literal('call'),
      price_usd: usdAmount.describe('USD for a call'),
    })
    .transform((price) => ({ unit: price.unit, price: price.price_usd })),
  z
    .strictObject({
      unit: z.literal('second'),
      rates: z
        .array(
          z.strictObject({
            resolution: z.enum(videoResolutions).describe(videoResolutions.join(', ')),
            price_usd: usdAmount.describe('USD for a second of output'),
            with_video_price_usd: usdAmount
              .optional()
              .describe('the same with reference videos; without it none are taken'),
          }),
        )
        .min(1)
        .refine((rates) => new Set(rates.map(({ resolution }) => resolution)).size === rates.length, {
          message: 'name a resolution twice',
        })
        .describe('resolutions that are sold'),
    })
    .transform((price) => ({
      unit: price.unit,
      rates: price.rates.map((rate) => ({
        resolution: rate.resolution,
        price: rate.price_usd,
        withVideoPrice: rate.with_video_price_usd ?? null,
      })),
    })),
]);

export type Price = z.output<typeof priceSchema>;

/** Prices of an output second. `withVideoPrice` is null if the SKU accepts no reference videos at this resolution. */
export type ResolutionRate = Extract<Price, { unit: 'second' }>['rates'][number];

/** Writes a SKU's price in the form of `GET /v1/models`. */
export const toPricing = (price: Price): JsonObject => {
  switch (price.unit) {
    case 'call':
      return { unit: 'call', currency: 'USD', price_usd: formatUsd(price.price) };
    case 'token':
      return {
        unit: 'token',
        currency: 'USD',
        input_usd_per_1m: formatRate(price.input),
        output_usd_per_1m: formatRate(price.output),
      };
    case 'second':
      return {
        unit: 'second',
        currency: 'USD',
        rates: price.rates.map((rate) => ({
          resolution: rate.resolution,
          price_usd: formatUsd(rate.price),
          with_video_price_usd: rate.withVideoPrice === null ? null : formatUsd(rate.withVideoPrice),
        })),
      };
  }
};
