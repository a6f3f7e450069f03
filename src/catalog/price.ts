import { z } from 'zod';
import { parseRate, parseUsd, type Nano, type Rate } from '../kit/money.ts';
import type { ModelKind } from '../providers/provider.ts';
import { videoResolutions, type VideoResolution } from '../providers/video/video-provider.ts';

export type Price =
  | { unit: 'token'; input: Rate; output: Rate }
  | { unit: 'call'; price: Nano }
  | { unit: 'second'; rates: ResolutionRate[] };

/** Prices of an output second. */
export interface ResolutionRate {
  resolution: VideoResolution;
  price: Nano;
  /** With reference videos; null: the SKU takes none at this resolution. */
  withVideoPrice: Nano | null;
}

/** The units that each kind of SKU may be priced in. */
export const pricedBy: Record<ModelKind, readonly Price['unit'][]> = {
  chat: ['token', 'call'],
  image: ['call'],
  video: ['second'],
};

const decimal = <T>(read: (text: string) => T) =>
  z.union([z.string(), z.number()]).transform((value, context) => {
    try {
      return read(String(value));
    } catch (error) {
      context.addIssue({
        code: 'custom',
        message: error instanceof Error ? error.message : 'is not a decimal',
      });
      return z.NEVER;
    }
  });

const usdAmount = decimal(parseUsd).pipe(z.bigint().min(0n));

/** A price as `causeway.yaml` and an account's own terms write it. */
export const priceSchema = z.discriminatedUnion('unit', [
  z
    .strictObject({
      unit: z.literal('token').describe('`token`: by prompt and output tokens'),
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
      unit: z.literal('call').describe('`call`: one price for each call'),
      price_usd: usdAmount.describe('USD for a call'),
    })
    .transform((price) => ({ unit: price.unit, price: price.price_usd })),
  z
    .strictObject({
      unit: z.literal('second').describe('`second`: by second of output'),
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
        .describe('the resolutions that are sold'),
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
