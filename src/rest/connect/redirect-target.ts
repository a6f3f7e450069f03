import { errors } from 'oidc-provider';

const maxRedirects = 20;

/** Throws for too many redirects. The library refuses those that a browser would run or read as a file. */
export const assertRedirects = (uris: unknown): void => {
  if (Array.isArray(uris) && uris.length > maxRedirects)
    throw new errors.InvalidClientMetadata(`redirect_uris: may have ${maxRedirects} entries`);
};

/** Where a person returns to: a web site by its host, or a program on their own computer. */
export const describeRedirect = (uri: string): { name: string; isProgram: boolean } => {
  const { protocol, host, hostname } = new URL(uri);
  const isWeb = protocol === 'https:' || protocol === 'http:';
  const isLoopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
  return { name: isWeb ? host : protocol, isProgram: !isWeb || isLoopback };
};
