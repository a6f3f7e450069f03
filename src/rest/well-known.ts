import type { X402Gate } from '../purchases/x402-gate.ts';

/** Where crawlers look: x402scan at the first, x402's own draft at the second. */
const manifestPaths = ['/.well-known/x402', '/.well-known/x402.json'];

/** Where did:web puts the document of a host, and of a base URL with a path, which a proxy takes off. */
const didPaths = ['/.well-known/did.json', '/did.json'];

/** Readable from any page, and kept for as long as the facilitators are not asked anew. */
export const wellKnownHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'cache-control': 'public, max-age=300',
  'x-content-type-options': 'nosniff',
};

/** By their addresses, the documents that say what is sold here and who signs; each JSON text, or null for none. */
export const createWellKnown = (
  x402: Pick<X402Gate, 'manifest' | 'didDocument'>,
): ReadonlyMap<string, () => Promise<string | null>> =>
  new Map([
    ...manifestPaths.map((path) => [path, () => Promise.resolve(x402.manifest())] as const),
    ...didPaths.map((path) => [path, () => x402.didDocument()] as const),
  ]);
