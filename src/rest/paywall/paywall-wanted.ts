import type { IncomingHttpHeaders } from 'node:http';

/** The default `Accept` of Java's HttpURLConnection: a program, although HTML comes first. */
const javaDefault = 'text/html, image/gif, image/jpeg, ';

/**
 * Whether a 402 is for a person at a browser: `text/html` is named and preferred to JSON, and no payment was sent.
 * A client that prefers neither gets JSON (contract). Depends on `Accept` alone when no proof was sent.
 */
export const isPaywallWanted = (headers: IncomingHttpHeaders): boolean => {
  const { accept = '' } = headers;
  if (headers['payment-signature'] !== undefined || headers['x-payment'] !== undefined) return false;
  if (accept.startsWith(javaDefault)) return false;
  const weights = readWeights(accept);
  const json = weights.get('application/json') ?? weights.get('application/*') ?? weights.get('*/*') ?? 0;
  return (weights.get('text/html') ?? 0) > json;
};

/** Reads the media ranges of an `Accept` with their weights, 0 to 1 (RFC 9110, 12.5.1). A weight that is no number is NaN, which compares false. */
const readWeights = (accept: string): Map<string, number> =>
  new Map(
    accept.split(',').map((range) => {
      const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
      return [type, /^(?:[01](?:\.\d*)?|\.\d+)$/.test(weight) ? Math.min(1, Number(weight)) : Number.NaN];
    }),
  );
