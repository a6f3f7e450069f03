import { z } from 'zod';
import { AppError } from '../../kit/errors.ts';
import { jsonAnswer } from '../answer.ts';
import { readOperation } from '../read-operation.ts';
import { modelSchema, toPublicModel, exampleModels } from './public-model.ts';

const input = z.object({ model: z.string().min(1).max(128).describe('A SKU.') });

const noSuchModel = 'model: this account has no such SKU. See GET /v1/models.';

export const getModel = readOperation({
  name: 'get_model',
  title: 'Read a model and its price',
  description: 'One model SKU that this account may use, as list_models has it. Free.',
  input,
  output: modelSchema,
  path: '/v1/models/{model}',
  errors: ['not_found'],
  // list_models answers the same, and each further tool costs every conversation tokens.
  tool: null,
  docs: {
    answer: 'Model',
    description: null,
    examples: [
      {
        summary: 'One SKU',
        parameters: { model: 'textmodel-3.5-flash' },
        status: 200,
        answer: exampleModels[0] ?? null,
      },
    ],
    wrong: { model: 'x'.repeat(129) },
    headers: {},
    mayBeSandbox: false,
    errors: { not_found: { when: 'The account has no such SKU.', message: noSuchModel, param: 'model' } },
  },
  resource: { path: 'models/{model}', name: 'model', title: 'A model' },
  handle: async ({ model: sku }, { caller }, { catalogs, config }) => {
    const model = catalogs
      .for(caller)
      .list()
      .find((candidate) => candidate.sku === sku);
    if (model === undefined) throw new AppError('not_found', noSuchModel, { param: 'model' });
    return jsonAnswer(toPublicModel(model, config));
  },
});
