import { z } from 'zod';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import { time } from '../../operations/answer-fields.ts';
import { inGateway, operatorRead } from '../operator-operation.ts';
import { paySchema, readPayViews } from '../pay-view.ts';

const failureSchema = z.strictObject({
  failure: z
    .enum(['retry_same', 'retry_other', 'fatal', 'ambiguous'])
    .describe('`ambiguous`: the call may have been carried out.'),
  code: z.string(),
  at: time,
});

const modelSchema = z.strictObject({
  kind: z.enum(['chat', 'image', 'video']),
  model: z.string().describe("The upstream's name of the model."),
  skus: z.array(z.string()),
  breaker: z
    .enum(['closed', 'open', 'probing'])
    .describe('`open`: no calls are made for `rest_ms`, as many failed. `probing`: one call tries.'),
  rest_ms: z.int().describe('How long no call is made, after failures or a rate limit.'),
  last_success_at: time.nullable(),
  last_failure: failureSchema.nullable(),
});

const providerSchema = z.strictObject({
  name: z.string(),
  type: z.string(),
  sandbox: z.boolean().describe('True: no real model is behind it.'),
  retries_left: z.int().describe('Failed calls that may be repeated now. Each ten calls add one, up to ten.'),
  pay: paySchema.nullable().describe('Null: it is not paid by x402.'),
  models: z.array(modelSchema),
});

export const listProviders = operatorRead({
  name: 'list_providers',
  title: 'List providers and their health',
  description:
    'The providers, the models that they serve, and how the last calls went, as the process that answers has seen it ' +
    'since its start. Each replica has seen others.',
  group: 'gateway',
  path: '/providers',
  fields: {},
  output: z.strictObject({ providers: z.array(providerSchema) }),
  answer: 'ProviderList',
  example: {
    input: {},
    answer: {
      providers: [
        {
          name: 'local',
          type: 'openai',
          sandbox: false,
          retries_left: 10,
          pay: null,
          models: [
            {
              kind: 'chat',
              model: 'llama-4',
              skus: ['fast-chat'],
              breaker: 'closed',
              rest_ms: 0,
              last_success_at: '2026-11-01T08:00:00.000Z',
              last_failure: null,
            },
          ],
        },
      ],
    },
  },
  handle: async (_input, services) => {
    const pays = await readPayViews(services);
    return {
      providers: inGateway(services)
        .providers.health()
        .map(({ name, type, isSandbox, retriesLeft, models }) => ({
          name,
          type,
          sandbox: isSandbox,
          retries_left: retriesLeft,
          pay: pays.get(`providers.${name}`) ?? null,
          models: models.map(({ kind, model, skus, state, restMs, lastSuccessAt, lastFailure }) => ({
            kind,
            model,
            skus,
            breaker: state,
            rest_ms: Math.ceil(restMs),
            last_success_at: isoOrNull(lastSuccessAt),
            last_failure: lastFailure && { ...lastFailure, at: toIso(lastFailure.at) },
          })),
        })),
    };
  },
});
