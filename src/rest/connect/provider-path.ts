import { connectionResources, metadataStart } from '../../accounts/connection-resources.ts';

/** The addresses that some assistants call, whatever the metadata says. */
const aliases = new Set(['/authorize', '/token', '/register']);

/** Returns the resource whose metadata is at this path; null: none has. */
export const metadataResource = (path: string): string | null => {
  const resource = path.startsWith(metadataStart) ? path.slice(metadataStart.length) : '';
  return connectionResources.has(resource) ? resource : null;
};

/** Returns the path within the authorization server, or that of the metadata of a resource; null for any other address. */
export const toProviderPath = (pathname: string): string | null => {
  if (aliases.has(pathname) || metadataResource(pathname) !== null) return pathname;
  if (pathname === '/.well-known/oauth-authorization-server/oauth')
    return '/.well-known/openid-configuration';
  return pathname.startsWith('/oauth/') ? pathname.slice('/oauth'.length) : null;
};
