import { areOnSale } from '../operations/search/is-on-sale.ts';
import type { Operation, Services } from '../operations/operation.ts';

/** Where crawlers look: x402scan at the first, x402's own draft at the second. */
const manifestPaths = ['/.well-known/x402', '/.well-known/x402.json'];

/** Below the facilitator address of the terms. */
const supportedPath = '/x402/supported';

/** Where did:web puts the document of a host, and of a base URL with a path, which a proxy takes off. */
const didPaths = ['/.well-known/did.json', '/did.json'];

/** Readable from any page, and kept for as long as the facilitators are not asked anew. */
export const wellKnownHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'cache-control': 'public, max-age=300',
  'x-content-type-options': 'nosniff',
};

/** By their addresses, the documents that say what is sold here, who signs and what is settled; each JSON text, or null for none. */
export const createWellKnown = (
  services: Services & { operations: readonly Operation[] },
): ReadonlyMap<string, () => Promise<string | null>> => {
  const { x402, operations, config } = services;
  if (!config.search.isOn) return new Map();
  const manifest = (): string | null => (areOnSale(operations, services) ? x402.manifest() : null);
  return new Map([
    ...manifestPaths.map((path) => [path, () => Promise.resolve(manifest())] as const),
    [supportedPath, () => Promise.resolve(x402.supported())],
    ...didPaths.map((path) => [path, () => x402.didDocument()] as const),
  ]);
};
