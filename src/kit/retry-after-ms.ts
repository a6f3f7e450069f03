/** RFC 9110, 5.6.7: the preferred form of an HTTP date, or one of the two obsolete ones. All of them are in UTC. */
const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .+\d\d:\d\d:\d\d/;

/** Milliseconds that a `Retry-After` header asks to wait from `now` on: seconds or a date. Undefined when it is neither. */
export const retryAfterMs = (header: unknown, now: number): number | undefined => {
  if (typeof header !== 'string') return undefined;
  const text = header.trim();
  const date = httpDate.test(text) ? Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) : Number.NaN;
  const ms = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1_000 : date - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), Number.MAX_SAFE_INTEGER);
};
