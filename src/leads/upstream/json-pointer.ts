/** The way that a JSON pointer (RFC 6901) names; the empty pointer is the whole document. */
export const parsePointer = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));

/** What lies at the end of a way into parsed JSON; undefined when there is nothing. */
export const follow = (value: unknown, way: readonly string[]): unknown => {
  let here = value;
  for (const token of way) here = memberOf(here, token);
  return here;
};

const memberOf = (value: unknown, token: string): unknown => {
  if (typeof value !== 'object' || value === null) return undefined;
  // An array's own `length` is none of its members.
  if (Array.isArray(value)) return /^\d+$/.test(token) ? value[Number(token)] : undefined;
  return Object.hasOwn(value, token) ? (value as Record<string, unknown>)[token] : undefined;
};
