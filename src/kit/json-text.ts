import type { JsonObject } from './json.ts';

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

/** The JSON text that a value was parsed from; undefined for a value whose text was not kept. */
export const sourceText = (value: unknown): string | undefined =>
  typeof value === 'object' && value !== null ? texts.get(value) : undefined;

/** Keeps the text of one member of `body`, which was parsed from `json`, when that member is an object. */
export const keepMemberText = (body: unknown, name: string, json: string): void => {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return;
  const { [name]: member } = body as Record<string, unknown>;
  if (typeof member === 'object' && member !== null) texts.set(member, memberText(json, name));
};

/**
 * Parses the text of a JSON object. `toJsonText` writes that text again as it is; JSON.stringify writes its numbers as
 * they are, but has the order of JavaScript's own properties and the last of equal names.
 */
export const parseVerbatim = (text: string): JsonObject => {
  const value = JSON.parse(text, (_name, member, { source }) =>
    typeof member === 'number' && source !== undefined && source !== String(member)
      ? JSON.rawJSON(source)
      : member,
  ) as JsonObject;
  texts.set(value, text);
  return value;
};

/** The JSON of an object. A member whose source text was kept is written as that text. */
export const toJsonText = (body: object): string => {
  const members = Object.entries(body);
  if (!members.some(([, member]) => sourceText(member) !== undefined)) return JSON.stringify(body);
  const written = members.flatMap(([name, member]) => {
    const text: string | undefined = sourceText(member) ?? JSON.stringify(member);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return `{${written.join(',')}}`;
};

/** The text of the last member of that name of a valid JSON object, as JSON.parse takes the last one too. */
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

/** The index of the quote that ends the string which begins at `start`. */
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
