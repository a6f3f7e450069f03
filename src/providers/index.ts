import { z } from 'zod';
import { modelarkProvider } from './modelark/modelark-provider.ts';
import { openAiProvider } from './openai/openai-provider.ts';
import type { ProviderConfig, ProviderDefinition, RouteConfig } from './provider.ts';
import { sandboxProvider } from './sandbox/sandbox-provider.ts';
import { videosProvider } from './reseller/reseller-provider.ts';

/** All types of providers. Settings, their documentation, the check at start and the wiring follow from this list. */
export const providerDefinitions: readonly [ProviderDefinition, ...ProviderDefinition[]] = [
  sandboxProvider,
  openAiProvider,
  modelarkProvider,
  videosProvider,
];

/** Throws TypeError for a type that is not in the list. */
export const definitionOf = ({ type }: ProviderConfig): ProviderDefinition => {
  const definition = providerDefinitions.find((one) => one.type === type);
  if (definition === undefined) throw new TypeError(`there is no provider type ${type}`);
  return definition;
};

/** Tells whether no real model is behind a provider's answers. */
export const isSandbox = ({ type }: ProviderConfig): boolean => type === sandboxProvider.type;

/** Tells whether only the sandbox serves a SKU: no real model answers, and it costs the operator nothing. */
export const isSandboxModel = (
  { routes }: { routes: readonly Pick<RouteConfig, 'provider'>[] },
  providers: Record<string, ProviderConfig>,
): boolean =>
  routes.every(({ provider }) => {
    const config = providers[provider];
    return config !== undefined && isSandbox(config);
  });

const withType = ({ type, text, settings }: ProviderDefinition) =>
  z.strictObject({ type: z.literal(type).describe(`\`${type}\`: ${text}`), ...settings.shape });
const [first, ...others] = providerDefinitions;

/** The section `providers` of causeway.yaml. */
export const providersSection = z
  .record(
    z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/, 'must be a lower-case name'),
    z.discriminatedUnion('type', [withType(first), ...others.map(withType)]),
  )
  .default({})
  .describe('providers by name');

/** The providers by name. `sandbox` is always among them. Throws ConfigError with one line that names the setting. */
export const readProviders = (
  section: z.output<typeof providersSection>,
  environment: Record<string, string | undefined>,
): Record<string, ProviderConfig> => {
  const providers = Object.entries(section).map(([name, { type, ...settings }]) => {
    const read = definitionOf({ type }).read(settings, { setting: `providers.${name}`, environment });
    return [name, { type, ...read }] as const;
  });
  return { [sandboxProvider.type]: { type: sandboxProvider.type }, ...Object.fromEntries(providers) };
};
