import { brandTitle } from '../../kit/brand-title.ts';
import type { Operation, Services } from '../../operations/operation.ts';
import type { PaywallSubject } from './paywall-page.ts';

/** What the page of a 402 says of the request at `url`. Nothing of it but path and query comes from the caller. */
export const toPaywallSubject = (
  { name, title, description, tool, rest }: Operation,
  url: URL,
  { config, publicUrl, x402, leads }: Pick<Services, 'config' | 'publicUrl' | 'x402' | 'leads'>,
): PaywallSubject => {
  const labels = new Map(
    x402.status().map(({ network, label, isTest }) => [network, isTest ? `${label} (test money)` : label]),
  );
  return {
    brand: brandTitle(config),
    publicUrl: publicUrl(),
    target: `${url.pathname}${url.search}`,
    title,
    description,
    tool: tool === null ? null : name,
    isSandbox: leads.status().synthetic,
    parameters: [...url.searchParams].filter(([parameter]) => rest.query.includes(parameter)),
    labelOf: (network) => labels.get(network) ?? network,
  };
};
