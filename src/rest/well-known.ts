import { areOnSale } from '../operations/search/is-on-sale.ts';
import type { Operation, Services } from '../operations/operation.ts';

/** Addresses for crawlers: the first for x402scan, the second by x402's draft. */
const manifestPaths = ['/.well-known/x402', '/.well-known/x402.json'];

/** Follows the facilitator's address in the terms. */
const supportedPath = '/x402/supported';

/** Addresses of did:web: for a host, and for a base URL with a path, which a proxy removes. */
const didPaths = ['/.well-known/did.json', '/did.json'];

/** Readable from any page, and cached until the facilitators are asked again. */
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
