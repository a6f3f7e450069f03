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

/** Returns the JSON text that a value was parsed from; undefined if it was not kept. */
export const sourceText = (value: unknown): string | undefined =>
  typeof value === 'object' && value !== null ? texts.get(value) : undefined;

/** Keeps the source text of a member of `body`, which was parsed from `json`, if the member is an object. */
export const keepMemberText = (body: unknown, name: string, json: string): void => {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return;
  const { [name]: member } = body as Record<string, unknown>;
  if (typeof member === 'object' && member !== null) texts.set(member, memberText(json, name));
};

/**
 * Parses the text of a JSON object. `toJsonText` writes exactly that text again. JSON.stringify keeps its numbers
 * exactly, but uses JavaScript's order of properties and the last of equal names.
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
