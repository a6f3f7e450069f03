import type { PayConfig } from '../../http/pay-settings.ts';

/** Lists the upstreams that are paid by x402, by the names that records have. */
export const paidUpstreams = ({
  providers,
  leads,
  mounts,
}: {
  providers: Record<string, object>;
  leads: { sources: readonly { kind: string }[] };
  mounts: readonly { name: string; pay: PayConfig | null }[];
}): { upstream: string; pay: PayConfig }[] =>
  [
    ...Object.entries(providers).map(([name, config]) => [`providers.${name}`, config] as const),
    ...leads.sources.map((config) => [`leads.${config.kind}`, config] as const),
    ...mounts.map((config) => [`mcp_servers.${config.name}`, config] as const),
  ].flatMap(([upstream, config]) =>
    'pay' in config && config.pay !== null ? [{ upstream, pay: config.pay }] : [],
  );
