import { z } from 'zod';
import { toPricing } from '../catalog/catalog.ts';
import type { ReadOperation } from './operation.ts';

const input = z.object({});

const output = z.looseObject({
  object: z.literal('list'),
  data: z.array(
    z.looseObject({
      id: z.string().describe('SKU, as `model` in other calls.'),
      object: z.literal('model'),
      created: z.int().describe('Unix seconds.'),
      owned_by: z.string(),
      kind: z.string().describe('`chat` or `image`.'),
      pricing: z
        .looseObject({ unit: z.enum(['call', 'second', 'token']), currency: z.literal('USD') })
        .describe('Amounts are decimal strings in USD.'),
    }),
  ),
});

export const listModels: ReadOperation<z.infer<typeof input>> = {
  name: 'list_models',
  title: 'List models and prices',
  description:
    'The model SKUs this account may use, each with its kind (chat or image) and price in USD. Free.',
  group: 'generation',
  payment: 'none',
  input,
  output,
  rest: { method: 'GET', path: '/v1/models', query: [], validation: 'envelope', errors: ['invalid_api_key'] },
  tool: { omit: [], readOnly: true, idempotent: true, openWorld: false },
  handle: async (_input, _call, { catalog, config }) => ({
    kind: 'json',
    status: 200,
    body: {
      object: 'list',
      data: catalog.list().map((model) => ({
        id: model.sku,
        object: 'model',
        created: catalogEpochSeconds,
        owned_by: config.brand,
        kind: model.kind,
        pricing: toPricing(model.price),
      })),
    },
    headers: {},
    isSandbox: false,
    links: [],
  }),
};

/** SKUs have no birthday of their own; OpenAI's clients need a number. 2026-01-01. */
const catalogEpochSeconds = 1_767_225_600;
