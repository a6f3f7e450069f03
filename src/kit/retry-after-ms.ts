/** An HTTP date in the preferred or one of the two obsolete forms (RFC 9110, 5.6.7). All are in UTC. */
const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .+\d\d:\d\d:\d\d/;

/** Reads a `Retry-After` header, seconds or a date. Returns the milliseconds to wait from `now`; undefined if it is neither. */
export const retryAfterMs = (header: unknown, now: number): number | undefined => {
  if (typeof header !== 'string') return undefined;
  const text = header.trim();
  const date = httpDate.test(text) ? Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) : Number.NaN;
  const ms = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1_000 : date - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), Number.MAX_SAFE_INTEGER);
};
