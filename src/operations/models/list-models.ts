import { z } from 'zod';
import type { ModelConfig } from '../../accounts/catalog/model.ts';
import type { JsonObject } from '../../kit/json.ts';
import { jsonAnswer } from '../answer.ts';
import { readOperation } from '../read-operation.ts';
import { modelSchema, toPublicModel, exampleModels } from './public-model.ts';

const input = z.object({});

const output = z.looseObject({ object: z.literal('list'), data: z.array(modelSchema) });

/** Keyed by the models of a catalog, of which a gateway has one. */
const lists = new WeakMap<readonly ModelConfig[], JsonObject>();

export const listModels = readOperation({
  name: 'list_models',
  title: 'List models and prices',
  description:
    'The model SKUs this account may use, each with its kind (chat, image or video) and its price for this account, ' +
    'by call, token or output second. Free.',
  input,
  output,
  path: '/v1/models',
  errors: [],
  tool: { instruction: 'list_models has the models and prices.' },
  docs: {
    answer: 'ModelList',
    description: null,
    examples: [
      {
        summary: 'The SKUs of the account',
        status: 200,
        answer: { object: 'list', data: exampleModels },
      },
    ],
    wrong: null,
    headers: {},
    mayBeSandbox: false,
  },
  resource: { path: 'models', name: 'models', title: 'Models and prices' },
  handle: async (_input, { caller }, { catalogs, config }) => {
    const models = catalogs.for(caller).list();
    const body =
      lists.get(models) ??
      Object.freeze({ object: 'list', data: models.map((model) => toPublicModel(model, config)) });
    lists.set(models, body);
    return jsonAnswer(body);
  },
});
