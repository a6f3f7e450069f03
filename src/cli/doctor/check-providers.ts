import type { Config } from '../../config/config.ts';
import { askProvider } from '../../providers/check-provider.ts';
import { isSandbox } from '../../providers/index.ts';
import { judgeDateHeader, ok, problem, type Check, type Finding } from './finding.ts';

/** Checks each provider by a call that costs nothing: its address, its key and its clock. */
export const providersCheck = ({ providers }: Config): Check => ({
  name: 'providers',
  look: async (signal) => {
    const names = Object.keys(providers);
    return (
      await Promise.all(names.map((name) => lookAt(name, { provider: providers[name], signal })))
    ).flat();
  },
});

const lookAt = async (
  name: string,
  { provider, signal }: { provider: Config['providers'][string] | undefined; signal: AbortSignal },
): Promise<Finding[]> => {
  if (provider === undefined || isSandbox(provider)) return [];
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
