import type { Operation } from '../../operations/operation.ts';

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** Replaces operation names in descriptions by method and path, since callers over HTTP do not know the tools' names. */
export const inRestWords = <T extends object>(part: T, operations: readonly Operation[]): T => {
  const calls = new Map(operations.map(({ name, rest }) => [name, `\`${rest.method} ${rest.path}\``]));
  const named = new RegExp(String.raw`\b(?:${[...calls.keys()].join('|')})\b`, 'g');
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [
        key,
        key === 'description' && typeof member === 'string'
          ? member.replace(named, (name) => calls.get(name) ?? name)
          : walk(member),
      ]),
    );
  };
  return walk(part) as T;
};
