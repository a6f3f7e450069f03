import { z } from 'zod';
import { settingsSchema } from '../config/settings-in-force.ts';
import { AppError, ConfigError } from '../kit/errors.ts';
import { count, timeOf, timeOrNullOf } from '../operations/answer-fields.ts';
import type { Providers } from '../providers/create-providers.ts';
import { inGateway, readVerb, writeVerb } from './verb.ts';
import { paySchema, readPayViews, type PayView } from './payments/bought-payments.ts';
import { defineView } from '../operations/view.ts';

type Health = ReturnType<Providers['health']>[number];
type Model = Health['models'][number];

const failureView = defineView<NonNullable<Model['lastFailure']>>({
  failure: '`ambiguous`: the call may have been carried out.',
})({
  failure: [z.enum(['retry_same', 'retry_other', 'fatal', 'ambiguous']), 'failure', 'retry_other'],
  code: [z.string(), 'code', 'rate_limit_exceeded'],
  at: timeOf('at', '2026-11-01T08:00:00.000Z'),
});

const modelView = defineView<Model>({
  state: '`failing`: no calls are made now, or all calls of the last minutes failed.',
  calls: 'Those of the last five minutes, and of the one that runs. A wrong request does not count.',
  model: "The upstream's name of the model.",
  breaker: '`open`: no calls are made for `rest_ms`, as many failed. `probing`: one call tries.',
  rest_ms: 'How long no call is made, after failures or a rate limit.',
})({
  kind: [z.enum(['chat', 'image', 'video']), 'kind', 'chat'],
  model: [z.string(), 'model', 'llama-4'],
  skus: [z.array(z.string()), 'skus', ['fast-chat']],
  state: [z.enum(['up', 'failing']), ({ isFailing }) => (isFailing ? 'failing' : 'up'), 'up'],
  calls: [count, 'calls', 120],
  failures: [count, 'failures', 1],
  breaker: [z.enum(['closed', 'open', 'probing']), 'state', 'closed'],
  rest_ms: [z.int(), ({ restMs }) => Math.ceil(restMs), 0],
  last_success_at: timeOrNullOf('lastSuccessAt', '2026-11-01T08:00:00.000Z'),
  last_failure: [
    failureView.schema.nullable(),
    ({ lastFailure }) => lastFailure && failureView.show(lastFailure),
    null,
  ],
});

const providerView = defineView<Health, Map<string, PayView>>({
  sandbox: 'True: no real model is behind it.',
  retries_left: 'Failed calls that may be repeated now. Each ten calls add one, up to ten.',
  pay: 'Null: it is not paid by x402.',
})({
  name: [z.string(), 'name', 'local'],
  type: [z.string(), 'type', 'openai'],
  sandbox: [z.boolean(), 'isSandbox', false],
  retries_left: [z.int(), 'retriesLeft', 10],
  pay: [paySchema.nullable(), ({ name }, pays) => pays.get(`providers.${name}`) ?? null, null],
  models: [
    z.array(modelView.schema),
    ({ models }) => models.map((model) => modelView.show(model)),
    [modelView.example],
  ],
});

export const listProviders = readVerb({
  name: 'list_providers',
  title: 'List providers and their health',
  description:
    'The providers, the models that they serve, and how the last calls went, as the process that answers has seen it ' +
    'since its start. Each replica has seen others.',
  path: '/providers',
  fields: {},
  output: z.strictObject({ providers: z.array(providerView.schema) }),
  answer: 'ProviderList',
  handle: async (_input, services) => {
    const pays = await readPayViews(services);
    const health = inGateway(services).providers.health();
    return { providers: health.map((provider) => providerView.show(provider, pays)) };
  },
});

export const getSettings = readVerb({
  name: 'get_settings',
  title: 'Get the settings in force',
  description:
    'All settings with their values and where they were set. Secrets are hidden; of an address that may hold one, only ' +
    'its scheme and host are shown.',
  path: '/settings',
  fields: {},
  output: settingsSchema,
  answer: 'SettingsInForce',
  exampleAnswer: {
    settings: [
      { name: 'PORT', value: '8402', source: 'default', secret: false },
      {
        name: 'DATABASE_URL',
        value: 'postgres://db.internal:5432/(hidden)',
        source: 'environment',
        secret: true,
      },
    ],
    file: null,
  },
  handle: async (_input, { config }) => (await config()).describe(),
});

const reloadedSchema = z.strictObject({
  applied: z.array(z.string()).describe('The settings that have changed, and hold now.'),
  restart: z.array(z.string()).describe('The settings that have changed, and hold after a restart.'),
});

export const reloadSettings = writeVerb({
  name: 'reload_settings',
  title: 'Read the settings again',
  description:
    'Reads causeway.yaml and the env file of the gateway that answers again, and checks all of it. A wrong setting changes ' +
    'nothing. What changed of models, wallet_terms, REQUESTS_PER_MINUTE and ACTIVE_VIDEOS holds at once; everything else, ' +
    'and models that need a provider which is not open, after a restart.',
  path: '/settings/reload',
  fields: {},
  output: reloadedSchema,
  answer: 'ReloadedSettings',
  exampleAnswer: { applied: ['models'], restart: ['PORT'] },
  errors: ['invalid_value'],
  handle: async (_input, services) => {
    try {
      return await inGateway(services).reload();
    } catch (cause) {
      if (cause instanceof ConfigError) throw new AppError('invalid_value', cause.message, { cause });
      throw cause;
    }
  },
});
