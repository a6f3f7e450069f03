import { z } from 'zod';

export const withoutTrailingSlash = (url: string): string => url.replace(/\/+$/, '');

export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' });

/** An address that everybody gets to see. */
export const plainUrl = httpUrl
  .refine((url) => !/[?#@]/.test(url), 'must have no credentials, query or fragment')
  .transform(withoutTrailingSlash);
