import { scopes } from './authenticate.ts';

/** The path of the resource that assistants connect to, where they name none. */
export const mainResource = '/mcp/account';

/** Begins the path of a resource's metadata (RFC 9728). */
export const metadataStart = '/.well-known/oauth-protected-resource';

/** The paths of the resources that connections open (RFC 8707), with the scopes of each. */
export const connectionResources: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>(
  [
    [mainResource, ['read', 'generate', 'search']],
    ['/mcp/account/directory', ['read', 'search']],
    ['/mcp/account/read-only', ['read']],
  ],
);

/** Returns the scopes of a resource; undefined: connections do not open it. `hasTools`: mounted servers are offered there. */
export const resourceScopes = (resource: string, hasTools: boolean): readonly string[] | undefined =>
  hasTools && resource === mainResource ? scopes : connectionResources.get(resource);
