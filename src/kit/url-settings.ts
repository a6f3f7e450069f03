import { z } from 'zod';
import { secret } from './variables.ts';

export const withoutTrailingSlash = (url: string): string => url.replace(/\/+$/, '');

export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' });

/** A node's address. Its path or query may contain a secret. `fetch` accepts no user name and password. */
export const nodeUrl = secret(
  httpUrl.refine((url) => {
    const { username, password } = new URL(url);
    return username === '' && password === '';
  }, 'must have no user and password; put the key of the node into its path or query'),
);

/** An address that everybody may see. */
export const plainUrl = httpUrl
  .refine((url) => !/[?#@]/.test(url), 'must have no credentials, query or fragment')
  .transform(withoutTrailingSlash);
