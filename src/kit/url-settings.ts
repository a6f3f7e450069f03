import { z } from 'zod';

export const withoutTrailingSlash = (url: string): string => url.replace(/\/+$/, '');

export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' });

/** A node's address, which may hold a secret in its path or query. `fetch` takes no user and password. */
export const nodeUrl = httpUrl.refine((url) => {
  const { username, password } = new URL(url);
  return username === '' && password === '';
}, 'must have no user and password; put the key of the node into its path or query');

/** An address that everybody gets to see. */
export const plainUrl = httpUrl
  .refine((url) => !/[?#@]/.test(url), 'must have no credentials, query or fragment')
  .transform(withoutTrailingSlash);
