import { AppError } from './errors.ts';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parses JSON, of bytes in UTF-8 with or without a byte order mark; undefined when it is no JSON. */
export const parseJson = (json: string | Uint8Array): unknown => {
  try {
    return JSON.parse(typeof json === 'string' ? json : new TextDecoder().decode(json));
  } catch {
    return undefined;
  }
};

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

declare global {
  /** Members of ES2026 that TypeScript does not declare yet. */
  interface JSON {
    rawJSON(text: string): object;
    isRawJSON(value: object): value is { rawJSON: string };
    parse(
      text: string,
      reviver: (name: string, value: unknown, context: { source?: string }) => unknown,
    ): unknown;
  }
}

const texts = new WeakMap<object, string>();

/** Returns the JSON text that a value was parsed from; undefined if it was not kept. */
export const sourceText = (value: unknown): string | undefined =>
  typeof value === 'object' && value !== null ? texts.get(value) : undefined;

/** Keeps the source text of a member of `body`, which was parsed from `json`, if the member is an object. */
export const keepMemberText = (body: unknown, name: string, json: string): void => {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return;
  const { [name]: member } = body as Record<string, unknown>;
  if (typeof member === 'object' && member !== null) texts.set(member, memberText(json, name));
};

/** Parses JSON that `toJsonText` writes again as it was. JSON.stringify keeps its numbers, not its order. */
export const parseVerbatim = (text: string): JsonObject => {
  const value = JSON.parse(text, (_name, member, { source }) =>
    typeof member === 'number' && source !== undefined && source !== String(member)
      ? JSON.rawJSON(source)
      : member,
  ) as JsonObject;
  texts.set(value, text);
  return value;
};

/** Writes an object as JSON, and keeps the text, which `toJsonText` writes again. */
export const writeKept = (value: object): string => {
  const text = JSON.stringify(value);
  texts.set(value, text);
  return text;
};

/** Parses the text of a JSON object that JSON.stringify wrote. `toJsonText` writes that text again. */
export const parseKept = (text: string): JsonObject => {
  const value = JSON.parse(text) as JsonObject;
  texts.set(value, text);
  return value;
};

/** Writes an object as JSON. An object or a member whose source text was kept is written as that text. */
export const toJsonText = (body: object): string => {
  const kept = sourceText(body);
  if (kept !== undefined) return kept;
  const members = Object.entries(body);
  if (!members.some(([, member]) => sourceText(member) !== undefined)) return JSON.stringify(body);
  const written = members.flatMap(([name, member]) => {
    const text: string | undefined = sourceText(member) ?? JSON.stringify(member);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return `{${written.join(',')}}`;
};

/** Finds the text of a member in a valid JSON object. Takes the last one of that name, as JSON.parse does. */
const memberText = (json: string, name: string): string => {
  let found = '';
  let depth = 0;
  let key = '';
  let valueStart = -1;
  for (let at = 0; at < json.length; at += 1) {
    const character = json[at];
    if (character === '"') {
      const end = stringEnd(json, at);
      if (depth === 1 && valueStart < 0) key = json.slice(at, end + 1);
      at = end;
    } else if (character === '{' || character === '[') depth += 1;
    else if (character === ':' && depth === 1) valueStart = at + 1;
    else if (character === ',' || character === '}' || character === ']') {
      if (depth === 1 && valueStart >= 0) {
        if ((key.includes('\\') ? JSON.parse(key) : key.slice(1, -1)) === name)
          found = json.slice(valueStart, at).trim();
        valueStart = -1;
      }
      if (character !== ',') depth -= 1;
    }
  }
  return found;
};

/** Returns the index of the closing quote of the string that begins at `start`. */
const stringEnd = (json: string, start: number): number => {
  let end = start;
  let backslashes: number;
  do {
    end = json.indexOf('"', end + 1);
    backslashes = 0;
    while (json[end - 1 - backslashes] === '\\') backslashes += 1;
  } while (backslashes % 2 === 1);
  return end;
};

/** Far above any sane request, and cheap to check and to hash. */
const maxValues = 50_000;
const maxDepth = 64;
const tooMany = `more than ${maxValues} values`;
const tooDeep = `nested deeper than ${maxDepth} levels`;

/** Says why parsed JSON is too large or too deep for the steps that recurse into it; null if it is not. */
export const jsonExcess = (value: unknown): string | null => {
  let left = maxValues;
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return tooDeep;
    left -= level.length;
    const next: unknown[] = [];
    for (const member of level) {
      if (typeof member !== 'object' || member === null) continue;
      const members = Array.isArray(member) ? member : Object.values(member);
      if (members.length + next.length > left) return tooMany;
      for (const inner of members) next.push(inner);
    }
    level = next;
  }
  return null;
};

export const refuseExcess = (excess: string | null): void => {
  if (excess !== null) throw new AppError('payload_too_large', `The request has ${excess}. Send less.`);
};

/** JSON up to this size is parsed fast, whatever is in it. */
const shortBytes = 64 * 1024;

const [quote, comma, backslash, openList, closeList, openObject, closeObject] = Buffer.from('",\\[]{}');

/** Says of long JSON what `jsonExcess` says, before it is parsed, which would take seconds and much memory. */
export const bytesExcess = (json: Uint8Array): string | null => {
  if (json.length <= shortBytes) return null;
  let [values, depth, isInString] = [1, 0, false];
  for (let at = 0; at < json.length && values <= maxValues && depth <= maxDepth; at += 1) {
    const byte = json[at];
    if (byte === quote) isInString = !isInString;
    else if (isInString) at += byte === backslash ? 1 : 0;
    else if (byte === comma) values += 1;
    else if (byte === openList || byte === openObject) {
      depth += 1;
      values += json[at + 1] === closeList || json[at + 1] === closeObject ? 0 : 1;
    } else if (byte === closeList || byte === closeObject) depth -= 1;
  }
  if (depth > maxDepth) return tooDeep;
  return values > maxValues ? tooMany : null;
};
