/** Splits a JSON pointer (RFC 6901) into its tokens. The empty pointer is the whole document. */
export const parsePointer = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));

/** Returns the value that the tokens of a pointer lead to in parsed JSON; undefined when there is none. */
export const follow = (value: unknown, tokens: readonly string[]): unknown => {
  let here = value;
  for (const token of tokens) here = memberOf(here, token);
  return here;
};

const memberOf = (value: unknown, token: string): unknown => {
  if (typeof value !== 'object' || value === null) return undefined;
  // The `length` of an array is no member of the JSON.
  if (Array.isArray(value)) return /^\d+$/.test(token) ? value[Number(token)] : undefined;
  return Object.hasOwn(value, token) ? (value as Record<string, unknown>)[token] : undefined;
};
