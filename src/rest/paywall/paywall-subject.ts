import { brandTitle } from '../../kit/brand-title.ts';
import type { Operation, Services } from '../../operations/operation.ts';
import type { PaywallSubject } from './paywall-page.ts';

/** Describes the request at `url` for the page of a 402. Only path and query come from the caller. */
export const toPaywallSubject = (
  { name, title, description, tool, rest, sale }: Operation,
  url: URL,
  services: Services,
): PaywallSubject => {
  const { config, publicUrl, x402 } = services;
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
    sandboxNotice: sale?.x402?.isSandbox(services, null) === true ? sale.x402.sandbox.notice : null,
    parameters: [...url.searchParams].filter(([parameter]) => rest.query.includes(parameter)),
    labelOf: (network) => labels.get(network) ?? network,
  };
};
