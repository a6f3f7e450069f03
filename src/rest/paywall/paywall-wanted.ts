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

/** In the order that decides between equal weights. A program that names none of them gets plain text. */
const forPrograms = ['text/markdown', 'application/json', 'text/plain'] as const;

/** Chooses the form of the home page: HTML as for a 402, else what the client names with the greatest weight. */
export const homeType = (headers: IncomingHttpHeaders): 'text/html' | (typeof forPrograms)[number] => {
  if (isPaywallWanted(headers)) return 'text/html';
  const weights = readWeights(headers.accept ?? '');
  const weightOf = (type: string): number => {
    const weight = weights.get(type) ?? 0;
    return weight > 0 ? weight : 0;
  };
  const [best] = forPrograms.toSorted((one, other) => weightOf(other) - weightOf(one));
  return best !== undefined && weightOf(best) > 0 ? best : 'text/plain';
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
