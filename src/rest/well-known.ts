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

/** Maps addresses to the documents that tell what is sold here, who signs and what is settled: JSON text, or null for none. */
export const createWellKnown = (
  services: Services & { operations: readonly Operation[] },
): ReadonlyMap<string, () => Promise<string | null>> => {
  const { x402, operations } = services;
  if (operations.every(({ sale }) => sale?.x402 === undefined)) return new Map();
  return new Map([
    ...manifestPaths.map((path) => [path, () => Promise.resolve(x402.manifest())] as const),
    [supportedPath, () => Promise.resolve(x402.supported())],
    ...didPaths.map((path) => [path, () => x402.didDocument()] as const),
  ]);
};
