/** Plain JSON data. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Writes JSON with sorted keys and without undefined members, so that equal data gives equal text. A number in
 * JSON.rawJSON is written as a JavaScript number, unless that loses digits.
 */
export const canonicalJson = (value: unknown): string => JSON.stringify(sorted(value));

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  if (JSON.isRawJSON(value)) return isExact(value.rawJSON) ? Number(value.rawJSON) : value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sorted(member)]),
  );
};

/** True if a JavaScript number has all digits of the JSON number `text`. */
const isExact = (text: string): boolean => decimalOf(text) === decimalOf(String(Number(text)));

/** Normalises a JSON number: its digits without outer zeros, and a power of ten. Null for other text. */
const decimalOf = (text: string): string | null => {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text);
  if (parts === null) return null;
  const [, sign, whole = '', fraction = '', exponent = '0'] = parts;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const trimmed = digits.replace(/(?<!0)0+$/, '');
  const power = Number(exponent) - fraction.length + digits.length - trimmed.length;
  return trimmed === '' ? '0' : `${sign}${trimmed}e${power}`;
};
