import type { Config } from '../../config/config.ts';
import { askProvider } from '../../providers/check-provider.ts';
import { definitionOf, isSandbox } from '../../providers/index.ts';
import type { ProviderConfig } from '../../providers/provider.ts';
import { judgeDateHeader, ok, problem, warning, type Check, type Finding } from './finding.ts';

/** Checks each provider by calls that cost nothing: its address, its key, its clock and the names of its models. */
export const providersCheck = ({ providers, models, moderation }: Config): Check => ({
  name: 'providers',
  look: async (signal) => {
    const routes = [...models.flatMap((model) => model.routes), moderation];
    const looking = Object.entries(providers).flatMap(([name, provider]) => {
      const asked = new Set(routes.flatMap((route) => (route?.provider === name ? [route.model] : [])));
      return [lookAt(name, { provider, signal }), findUnlisted(name, { provider, asked, signal })];
    });
    return (await Promise.all(looking)).flat();
  },
});

/** Warns of models that a provider is asked for and does not list. A list that cannot be read is not compared. */
const findUnlisted = async (
  name: string,
  { provider, asked, signal }: { provider: ProviderConfig; asked: Set<string>; signal: AbortSignal },
): Promise<Finding[]> => {
  const listed = await definitionOf(provider)
    .listModels?.(provider, signal)
    .catch(() => []);
  if (listed === undefined || listed.length === 0) return [];
  return [...asked.difference(new Set(listed))].map((model) =>
    warning(
      `The provider ${name} does not list the model ${model}.`,
      'Correct its name in causeway.yaml, unless the provider serves it all the same.',
    ),
  );
};

const lookAt = async (
  name: string,
  { provider, signal }: { provider: ProviderConfig; signal: AbortSignal },
): Promise<Finding[]> => {
  if (isSandbox(provider)) return [];
  const found = await askProvider(name, provider, signal);
  if (found === null) return [ok(`${name} has nothing that can be asked free of charge.`)];
  const { trouble, date } = found;
  if (trouble !== null)
    return [
      problem(
        `The provider ${name} ${trouble.what}.`,
        `${trouble.remedy ?? 'Wait, or route to another provider'}.`,
      ),
    ];
  const clock = judgeDateHeader(`the clock of the provider ${name}`, date);
  return [ok(`The provider ${name} answers and takes the key.`), ...(clock === false ? [] : [clock])];
};
