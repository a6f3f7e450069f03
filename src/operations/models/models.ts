import type { Services } from '../call.ts';
import { defaultModels } from '../../accounts/catalog/default-models.ts';
import { z } from 'zod';
import { type ModelConfig, toPricing } from '../../accounts/catalog/model.ts';
import type { JsonObject } from '../../kit/json.ts';
import { usd } from '../answer-fields.ts';
import { jsonAnswer } from '../answer.ts';
import { wrongField } from '../../kit/errors.ts';
import { readOperation } from '../define-operation.ts';

const someUsd = usd.optional();

const modelSchema = z.looseObject({
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

const toPublicModel = (model: ModelConfig, { brand }: { brand: string }): JsonObject => ({
  id: model.sku,
  object: 'model',
  created: catalogEpochSeconds,
  owned_by: brand,
  kind: model.kind,
  ...(model.maxOutputTokens === null ? {} : { max_output_tokens: model.maxOutputTokens }),
  pricing: toPricing(model.price),
});

/** One default SKU of each kind. */
const exampleModels: JsonObject[] = defaultModels()
  .filter(({ sku }) => ['textmodel-3.5-flash', 'imagemodel-1.0', 'videomodel-2.0'].includes(sku))
  .map((model) => toPublicModel(model, { brand: 'causeway' }));

/** Keyed by the models of a catalog, of which a gateway has one. */
const lists = new WeakMap<readonly ModelConfig[], JsonObject>();

export const listModels = readOperation({
  name: 'list_models',
  title: 'List models and prices',
  description:
    'The model SKUs this account may use, each with its kind (chat, image or video) and its price for this account, ' +
    'by call, token or output second. Free.',
  input: z.object({}),
  output: z.looseObject({ object: z.literal('list'), data: z.array(modelSchema) }),
  path: '/v1/models',
  tool: { instruction: 'list_models has the models and prices.' },
  docs: {
    answer: 'ModelList',
    examples: [{ summary: 'The SKUs of the account', answer: { object: 'list', data: exampleModels } }],
  },
  resource: { path: 'models', name: 'models', title: 'Models and prices' },
  handle: async (_input, { caller }, { catalogs, config }: Pick<Services, 'catalogs' | 'config'>) => {
    const models = catalogs.for(caller).list();
    const body =
      lists.get(models) ??
      Object.freeze({ object: 'list', data: models.map((model) => toPublicModel(model, config)) });
    lists.set(models, body);
    return jsonAnswer(body);
  },
});

const noSuchModel = 'model: this account has no such SKU. See GET /v1/models.';

export const getModel = readOperation({
  name: 'get_model',
  title: 'Read a model and its price',
  description: 'One model SKU that this account may use, as list_models has it. Free.',
  input: z.object({ model: z.string().min(1).max(128).describe('A SKU.') }),
  output: modelSchema,
  path: '/v1/models/{model}',
  errors: ['not_found'],
  // list_models answers the same, and each further tool costs every conversation tokens.
  tool: null,
  docs: {
    answer: 'Model',
    examples: [
      {
        summary: 'One SKU',
        parameters: { model: 'textmodel-3.5-flash' },
        answer: exampleModels[0] ?? null,
      },
    ],
    wrong: { model: 'x'.repeat(129) },
    errors: { not_found: { when: 'The account has no such SKU.', message: noSuchModel, param: 'model' } },
  },
  resource: { path: 'models/{model}', name: 'model', title: 'A model' },
  handle: async ({ model: sku }, { caller }, { catalogs, config }: Pick<Services, 'catalogs' | 'config'>) => {
    const models = catalogs.for(caller).list();
    const model = models.find((one) => one.sku === sku);
    if (model === undefined) throw wrongField('not_found', 'model', noSuchModel);
    return jsonAnswer(toPublicModel(model, config));
  },
});
