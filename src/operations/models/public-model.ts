import { z } from 'zod';
import { toPricing } from '../../catalog/catalog.ts';
import type { ModelConfig } from '../../catalog/model.ts';
import type { JsonObject } from '../../kit/json.ts';

const usd = z.string().optional();

/** A model with its price, as answered. */
export const modelSchema = z.looseObject({
  id: z.string().describe('SKU, as `model` in other calls.'),
  object: z.literal('model'),
  created: z.int().describe('Unix seconds.'),
  owned_by: z.string(),
  kind: z.enum(['chat', 'image', 'video']),
  pricing: z.looseObject({
    unit: z.enum(['call', 'second', 'token']),
    currency: z.literal('USD'),
    price_usd: usd,
    input_usd_per_1m: usd,
    output_usd_per_1m: usd,
    rates: z
      .array(
        z.looseObject({
          resolution: z.string(),
          price_usd: z.string(),
          with_video_price_usd: z.string().nullable(),
        }),
      )
      .optional()
      .describe('Of an output second.'),
  }),
});

/** SKUs have no birthday of their own; OpenAI's clients need a number. 2026-01-01. */
const catalogEpochSeconds = 1_767_225_600;

/** The public form of a model that an account may use. */
export const toPublicModel = (model: ModelConfig, { brand }: { brand: string }): JsonObject => ({
  id: model.sku,
  object: 'model',
  created: catalogEpochSeconds,
  owned_by: brand,
  kind: model.kind,
  pricing: toPricing(model.price),
});
