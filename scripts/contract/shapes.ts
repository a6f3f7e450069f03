import { Mismatch } from './outcomes.ts';

/** Returns what is wrong with a value, or null. */
export type Shape = (value: unknown) => string | null;

export type JsonRecord = Record<string, unknown>;

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const show = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
};

const when =
  (isRight: (value: unknown) => boolean, wanted: string): Shape =>
  (value) =>
    isRight(value) ? null : `is ${show(value)}, not ${wanted}`;

const matching = (pattern: RegExp, wanted: string): Shape =>
  when((value) => typeof value === 'string' && pattern.test(value), wanted);

export const text = when((value) => typeof value === 'string', 'a string');
export const filledText = when(
  (value) => typeof value === 'string' && value !== '',
  'a string that is not empty',
);
export const flag = when((value) => typeof value === 'boolean', 'true or false');
export const count = when(
  (value) => typeof value === 'number' && Number.isInteger(value) && value >= 0,
  'an integer of 0 or more',
);
export const integer = when((value) => Number.isInteger(value), 'an integer');
export const anything: Shape = () => null;
export const record = when(isRecord, 'an object');
export const nothing = when((value) => value === null, 'null');

const uuidText = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
export const uuid = matching(new RegExp(`^${uuidText}$`), 'a UUID');
export const chatId = matching(new RegExp(`^chatcmpl-${uuidText}$`), 'chatcmpl- and a UUID');
export const responseId = matching(new RegExp(`^resp_${uuidText}$`), 'resp_ and a UUID');
export const timestamp = matching(
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/,
  'an ISO 8601 timestamp',
);
/** At least two decimals, no exponent, no other trailing zeros. */
export const usd = matching(/^\d+\.\d\d(?:\d*[1-9])?$/, 'a decimal amount such as "12.50"');
export const signedUsd = matching(/^-?\d+\.\d\d(?:\d*[1-9])?$/, 'a signed decimal amount');

export const exactly = (wanted: unknown): Shape =>
  when((value) => JSON.stringify(value) === JSON.stringify(wanted), show(wanted));
export const oneOf = (...wanted: readonly unknown[]): Shape =>
  when((value) => wanted.includes(value), `one of ${show(wanted)}`);
export const orNull =
  (shape: Shape): Shape =>
  (value) =>
    value === null ? null : shape(value);
/** Allows the member to be absent. */
export const maybe =
  (shape: Shape): Shape =>
  (value) =>
    value === undefined ? null : shape(value);

export const listOf =
  (shape: Shape, least = 0): Shape =>
  (value) => {
    if (!Array.isArray(value)) return `is ${show(value)}, not an array`;
    if (value.length < least) return `has ${value.length} items, not ${least} or more`;
    for (const [index, item] of value.entries()) {
      const problem = shape(item);
      if (problem !== null) return `${index}: ${problem}`;
    }
    return null;
  };

/** Checks an object with these members. `only` refuses any other. */
export const members =
  (shapes: Record<string, Shape>, { only = false }: { only?: boolean } = {}): Shape =>
  (value) => {
    if (!isRecord(value)) return `is ${show(value)}, not an object`;
    for (const [name, shape] of Object.entries(shapes)) {
      const problem = shape(value[name]);
      if (problem !== null) return `${name}: ${problem}`;
    }
    const extra = only ? Object.keys(value).find((name) => !Object.hasOwn(shapes, name)) : undefined;
    return extra === undefined ? null : `has a member ${extra} that does not belong there`;
  };

export const envelope = members(
  { type: filledText, code: filledText, message: filledText, param: maybe(orNull(text)) },
  { only: true },
);

/** Throws Mismatch if the value does not have the shape. */
export const expectShape = (value: unknown, shape: Shape, what: string): void => {
  const problem = shape(value);
  if (problem !== null) throw new Mismatch(`${what}: ${problem}`);
};

/** Checks the shape and returns the value as a record. */
export const readRecord = (value: unknown, shape: Shape, what: string): JsonRecord => {
  expectShape(value, shape, what);
  if (!isRecord(value)) throw new Mismatch(`${what}: is ${show(value)}, not an object`);
  return value;
};
