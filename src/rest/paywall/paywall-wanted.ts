import type { IncomingHttpHeaders } from 'node:http';

/** `Accept` of Java's HttpURLConnection whose program asked for nothing in particular: no browser, although HTML leads. */
const javaDefault = 'text/html, image/gif, image/jpeg, ';

/**
 * Whether a 402 is for a person at a browser: `text/html` is named and preferred to JSON, and no payment was sent.
 * Who prefers neither gets JSON, as the contract has it. Depends on `Accept` alone where no proof came.
 */
export const isPaywallWanted = (headers: IncomingHttpHeaders): boolean => {
  const { accept = '' } = headers;
  if (headers['payment-signature'] !== undefined || headers['x-payment'] !== undefined) return false;
  if (accept.startsWith(javaDefault)) return false;
  const weights = readWeights(accept);
  const json = weights.get('application/json') ?? weights.get('application/*') ?? weights.get('*/*') ?? 0;
  return (weights.get('text/html') ?? 0) > json;
};

/** Each media range of an `Accept` with its weight, 0 to 1 (RFC 9110, 12.5.1). One that is no number is NaN: neither more nor less than any. */
const readWeights = (accept: string): Map<string, number> =>
  new Map(
    accept.split(',').map((range) => {
      const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
      return [type, /^(?:[01](?:\.\d*)?|\.\d+)$/.test(weight) ? Math.min(1, Number(weight)) : Number.NaN];
    }),
  );
