import { z } from 'zod';
import { type ModelConfig, toPricing } from '../../catalog/model.ts';
import type { JsonObject } from '../../kit/json.ts';
import { usd } from '../answer-fields.ts';
import type { OperationDocs } from '../operation.ts';

const someUsd = usd.optional();

export const modelSchema = z.looseObject({
  id: z.string().describe('SKU, as `model` in other calls.'),
  object: z.literal('model'),
  created: z.int().describe('Unix seconds.'),
  owned_by: z.string(),
  kind: z.enum(['chat', 'image', 'video']),
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
  pricing: toPricing(model.price),
});

const textModel: JsonObject = {
  id: 'textmodel-3.5-flash',
  object: 'model',
  created: 1_767_225_600,
  owned_by: 'causeway',
  kind: 'chat',
  pricing: { unit: 'token', currency: 'USD', input_usd_per_1m: '1.05', output_usd_per_1m: '6.30' },
};

const models: JsonObject = {
  object: 'list',
  data: [
    textModel,
    {
      ...textModel,
      id: 'imagemodel-1.0',
      kind: 'image',
      pricing: { unit: 'call', currency: 'USD', price_usd: '0.04' },
    },
    {
      ...textModel,
      id: 'videomodel-2.0',
      kind: 'video',
      pricing: {
        unit: 'second',
        currency: 'USD',
        rates: [{ resolution: '720p', price_usd: '0.04', with_video_price_usd: '0.024' }],
      },
    },
  ],
};

export const listModelsExamples: OperationDocs['examples'] = [
  { summary: 'The SKUs of the account', status: 200, answer: models },
];

export const getModelExamples: OperationDocs['examples'] = [
  { summary: 'One SKU', parameters: { model: 'textmodel-3.5-flash' }, status: 200, answer: textModel },
];
