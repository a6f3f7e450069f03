import type { Services } from '../operations/call.ts';
import type { Operation } from '../operations/definition.ts';
import { rulesOf } from '../operations/sale-rules.ts';

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

/** Maps addresses to documents about the goods, the signer and settlements: JSON text, or null for none. */
export const createWellKnown = (
  services: Services & { operations: readonly Operation[] },
): ReadonlyMap<string, () => Promise<string | null>> => {
  const { x402, operations } = services;
  if (operations.every(({ sale }) => !rulesOf(sale).isPaid)) return new Map();
  return new Map([
    ...manifestPaths.map((path) => [path, () => Promise.resolve(x402.manifest())] as const),
    [supportedPath, () => Promise.resolve(x402.supported())],
    ...didPaths.map((path) => [path, () => x402.didDocument()] as const),
  ]);
};
