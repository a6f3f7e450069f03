import type { PayConfig } from '../../http/pay-settings.ts';

export const paidUpstreams = ({
  providers,
  leads,
}: {
  providers: Record<string, object>;
  leads: { sources: readonly { kind: string }[] };
}): { upstream: string; pay: PayConfig }[] =>
  [
    ...Object.entries(providers).map(([name, config]) => [`providers.${name}`, config] as const),
    ...leads.sources.map((config) => [`leads.${config.kind}`, config] as const),
  ].flatMap(([upstream, config]) =>
    'pay' in config && config.pay !== null ? [{ upstream, pay: config.pay as PayConfig }] : [],
  );
