import { defaultModels } from '../../accounts/catalog/default-models.ts';
import { z } from 'zod';
import { type ModelConfig, toPricing } from '../../accounts/catalog/model.ts';
import type { JsonObject } from '../../kit/json.ts';
import { usd } from '../answer-fields.ts';

const someUsd = usd.optional();

export const modelSchema = z.looseObject({
  id: z.string().describe('SKU, as `model` in other calls.'),
  object: z.literal('model'),
  created: z.int().describe('Unix seconds.'),
  owned_by: z.string(),
  kind: z.enum(['chat', 'image', 'video']),
  max_output_tokens: z.int().optional().describe('Output limits above it are lowered to it.'),
  pricing: z.looseObject({
    unit: z.enum(['call', 'second', 'token']),
    currency: z.literal('USD'),
    price_usd: someUsd,
    input_usd_per_1m: someUsd,
    output_usd_per_1m: someUsd,
    rates: z
      .array(z.looseObject({ resolution: z.string(), price_usd: usd, with_video_price_usd: usd.nullable() }))
      .optional()
      .describe('Of an output second.'),
  }),
});

/** 2026-01-01. SKUs have no date of creation, but OpenAI's clients need a number. */
const catalogEpochSeconds = 1_767_225_600;

export const toPublicModel = (model: ModelConfig, { brand }: { brand: string }): JsonObject => ({
  id: model.sku,
  object: 'model',
  created: catalogEpochSeconds,
  owned_by: brand,
  kind: model.kind,
  ...(model.maxOutputTokens === null ? {} : { max_output_tokens: model.maxOutputTokens }),
  pricing: toPricing(model.price),
});

/** One default SKU of each kind. */
export const exampleModels: JsonObject[] = defaultModels()
  .filter(({ sku }) => ['textmodel-3.5-flash', 'imagemodel-1.0', 'videomodel-2.0'].includes(sku))
  .map((model) => toPublicModel(model, { brand: 'causeway' }));
