import { z } from 'zod';
import { ConfigError } from '../../kit/errors.ts';
import { definitionOf, isSandbox, providerDefinitions } from '../../providers/index.ts';
import { modelKinds, type ProviderConfig, type RouteConfig } from '../../providers/provider.ts';
import { defaultModels } from './default-models.ts';
import { type ModelConfig, pricedBy, priceSchema } from './model.ts';

const durationSchema = z
  .strictObject({
    min_seconds: z.int().min(1).max(3600).describe('shortest video'),
    max_seconds: z.int().min(1).max(3600).describe('longest video'),
    default_seconds: z.int().optional().describe('length when the caller names none; unset: the caller must'),
    edits: z.boolean().default(false).describe('whether `duration: -1` edits a reference video'),
  })
  .refine(
    ({ min_seconds: minimum, max_seconds: maximum, default_seconds: initial }) =>
      minimum <= maximum && (initial === undefined || (initial >= minimum && initial <= maximum)),
    { message: 'min_seconds, default_seconds and max_seconds must be in this order' },
  )
  .transform((rule) => ({
    minimum: rule.min_seconds,
    maximum: rule.max_seconds,
    initial: rule.default_seconds ?? null,
    edits: rule.edits,
  }));

const routeSchema = z.strictObject({
  provider: z.string().describe('a name in `providers`'),
  model: z.string().min(1).optional().describe('the upstream’s name of the model, the SKU when unset'),
  cost: priceSchema
    .optional()
    .describe('what you pay for it, in the form of `price`; unset: cost and margin are unknown'),
});

export const modelsSection = z
  .record(
    z.string().min(1).max(128),
    z.strictObject({
      kind: z.enum(modelKinds).describe('chat, image or video'),
      price: priceSchema.describe(
        'its `unit` is `token` or `call` for chat, `call` for image, `second` for video',
      ),
      max_output_tokens: z
        .int()
        .min(1)
        .max(65_536)
        .optional()
        .describe('chat: most output tokens of its upstreams; lowers the limits of callers'),
      duration: durationSchema.optional().describe('video: lengths that are sold'),
      routes: z.array(routeSchema).min(1).describe('providers, in order of preference'),
    }),
  )
  .refine((models) => Object.keys(models).length > 0, 'names no model; leave it out for the default ones')
  .optional()
  .describe('the whole list of SKUs; unset: the default ones, of the sandbox');

export const moderationSection = z
  .strictObject({
    provider: z.string().describe('a provider of type `openai`'),
    model: z.string().min(1).describe('its moderation model'),
  })
  .optional()
  .describe('checks prompts and images of videos with `nsfw_check`; unset: the upstream does, where it can');

type Providers = Record<string, ProviderConfig>;

const providerOf = (providers: Providers, name: string): ProviderConfig | undefined =>
  Object.hasOwn(providers, name) ? providers[name] : undefined;

/** Throws ConfigError with one line that names the setting. */
export const readModels = (section: z.output<typeof modelsSection>, providers: Providers): ModelConfig[] => {
  if (section === undefined) return defaultModels();
  return Object.entries(section).map(([sku, model]) => {
    const refuse = (key: string, problem: string): ConfigError =>
      new ConfigError(`causeway.yaml: models.${sku}.${key}: ${problem}`);
    const routes = model.routes.map((route) => {
      const provider = providerOf(providers, route.provider);
      if (provider === undefined) throw refuse('routes', `there is no provider "${route.provider}"`);
      if (!definitionOf(provider).serves.includes(model.kind))
        throw refuse('routes', `a provider of type ${provider.type} serves no ${model.kind} models`);
      if (route.cost !== undefined && !pricedBy[model.kind].includes(route.cost.unit))
        throw refuse('routes', `the unit of a cost must be ${pricedBy[model.kind].join(' or ')}`);
      return {
        route: { provider: route.provider, model: route.model ?? sku, cost: route.cost },
        isSandbox: isSandbox(provider),
      };
    });
    if (new Set(routes.map((one) => one.isSandbox)).size > 1)
      throw refuse(
        'routes',
        'names a real provider and the sandbox; nobody pays for what the sandbox made, so take one of them out, or give the sandbox a SKU of its own',
      );
    if (!pricedBy[model.kind].includes(model.price.unit))
      throw refuse(
        'price.unit',
        `a SKU of kind ${model.kind} is priced by ${pricedBy[model.kind].join(' or ')}`,
      );
    if ((model.kind === 'video') !== (model.duration !== undefined))
      throw refuse('duration', 'must be there for a video SKU, and only for one');
    if (model.kind !== 'chat' && model.max_output_tokens !== undefined)
      throw refuse('max_output_tokens', 'is for chat SKUs only');
    return {
      sku,
      kind: model.kind,
      price: model.price,
      maxOutputTokens: model.max_output_tokens ?? null,
      duration: model.duration ?? null,
      routes: routes.map(({ route }) => route),
    };
  });
};

/** Throws ConfigError with one line that names the setting. */
export const readModeration = (
  section: z.output<typeof moderationSection>,
  providers: Providers,
): RouteConfig | null => {
  if (section === undefined) return null;
  const types = providerDefinitions
    .filter(({ serves }) => serves.includes('moderation'))
    .map(({ type }) => type);
  if (types.includes(providerOf(providers, section.provider)?.type ?? '')) return section;
  throw new ConfigError(
    `causeway.yaml: moderation.provider: there is no provider "${section.provider}" of type ${types.join(' or ')}`,
  );
};
