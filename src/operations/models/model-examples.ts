import type { JsonObject } from '../../kit/json.ts';
import type { OperationDocs } from '../operation-docs.ts';

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
