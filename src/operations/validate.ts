import { isJsonObject, jsonExcess, refuseExcess, type JsonObject } from '../kit/json.ts';
import { AppError, type ValidationIssue } from '../kit/errors.ts';
import { nearestName, sanitizeLine } from '../kit/text.ts';
import type { Call } from './call.ts';
import { takesBody, type DescribedOperation } from './definition.ts';
import { isSold, rulesOf } from './sale-rules.ts';
import { z } from 'zod';

export const maxIssues = 20;
/** The most edits between an unknown field and the known one that is suggested. */
const maxEdits = 2;
/** The most unknown fields of a request that are compared. To compare more would hold up other calls. */
const maxCompared = 1_000;
/** A field this short is suggested only in another case, because two edits turn it into any other. */
const longestShort = 3;
/** In characters, of a name in a refusal. */
const longestShown = 128;

/**
 * Whether an operation refuses unknown fields that look like known ones: nobody pays for a slip. Text models ignore them,
 * as they get requests that were written for other APIs.
 */
export const refusesSlips = ({ sale, sells }: Pick<DescribedOperation, 'sale' | 'sells'>): boolean =>
  isSold(sale) && sells !== 'chat';

type Validated = Omit<DescribedOperation, 'group'>;

/** Returns the checked input. Throws AppError 422 that names every wrong field and its place. */
export const validate = <Input>(
  operation: Validated & { input: z.ZodType<Input>; toolInput?: z.ZodType<NoInfer<Input>> },
  raw: unknown,
  transport: Call['transport'] = 'rest',
): Input => {
  refuseExcess(jsonExcess(raw));
  const { input, toolInput = input } = operation;
  const parsed =
    transport === 'mcp'
      ? toolInput.safeParse(withoutNulls(raw, toolInput), { reportInput: true })
      : input.safeParse(raw, { reportInput: true });
  const unknown = unknownFields(operation, { raw, taken: parsed.data, transport });
  if (parsed.success && unknown.length === 0) return parsed.data;
  const named = new Set<unknown>(unknown.map(({ path: [name] }) => name));
  const isRepeated = ({ path: [name = '', ...inner] }: FieldIssue): boolean =>
    transport === 'rest' &&
    inner.length === 0 &&
    source(operation, String(name)) === 'query' &&
    isJsonObject(raw) &&
    Array.isArray(raw[name]);
  const others = (parsed.success ? [] : fieldIssues(parsed.error.issues)).map((issue) =>
    isRepeated(issue) ? { ...issue, msg: 'is given more than once' } : issue,
  );
  throw invalid(
    [...unknown, ...others.filter(({ path: [name] }) => !named.has(name))].map(({ path, ...issue }) => ({
      loc: [source(operation, String(path[0] ?? '')), ...path],
      ...issue,
    })),
  );
};

/** A model writes null for an argument that it leaves out. Where null is taken it may mean more; `custom_data` is no null. */
const withoutNulls = (raw: unknown, schema: z.ZodType): unknown =>
  schema instanceof z.ZodObject && isJsonObject(raw)
    ? Object.fromEntries(
        Object.entries(raw).filter(
          ([name, value]) =>
            value !== null ||
            name === 'custom_data' ||
            z.safeParse(schema.shape[name] ?? z.null(), null).success,
        ),
      )
    : raw;

/**
 * Finds the unknown fields that are refused. Over MCP, and where an operation is strict, these are all: a model guesses
 * names, and takes an answer for the one that it asked for.
 */
const unknownFields = (
  operation: Validated,
  { raw, taken, transport }: { raw: unknown; taken: unknown; transport: Call['transport'] },
): FieldIssue[] => {
  const { input, otherNames, rest, sale } = operation;
  const refusesAll = transport === 'mcp' || rest.isStrict === true;
  if (!(input instanceof z.ZodObject && isJsonObject(raw) && (refusesAll || refusesSlips(operation))))
    return [];
  const known = Object.keys(input.shape);
  if (transport === 'mcp' && rulesOf(sale).isPrepaid) known.push('idempotency_key');
  const inQuery = transport === 'rest' && takesBody(rest) ? rest.query : [];
  return [
    ...unknownMembers(raw, { known, otherNames, refusesAll, most: maxCompared, inQuery }),
    ...(refusesSlips(operation) ? droppedMembers(raw, taken) : []),
  ];
};

/** Finds slips within the fields of a request that a schema took: it kept the members that it knows, and their defaults. */
const droppedMembers = (raw: unknown, taken: unknown): FieldIssue[] => {
  if (typeof raw !== 'object' || typeof taken !== 'object' || raw === taken) return [];
  return Object.entries(taken ?? {}).flatMap(([name, kept]) => {
    const sent: unknown = Reflect.get(raw ?? {}, name);
    const rules = { refusesAll: false, most: maxIssues, edits: 1 };
    const own =
      isJsonObject(sent) && isJsonObject(kept)
        ? unknownMembers(sent, { known: Object.keys(kept), ...rules })
        : [];
    const key = Array.isArray(taken) ? Number(name) : name;
    const found = [...own, ...droppedMembers(sent, kept)];
    return found.map(({ path, ...issue }) => ({ path: [key, ...path], ...issue }));
  });
};

interface Comparison extends Pick<Validated, 'otherNames'> {
  known: readonly string[];
  refusesAll: boolean;
  most: number;
  edits?: number;
  inQuery?: readonly string[];
}

const unknownMembers = (
  raw: JsonObject,
  { known, otherNames, refusesAll, most, edits, inQuery = [] }: Comparison,
): FieldIssue[] => {
  const names = new Set(known);
  const unknown = Object.keys(raw).filter((name) => !names.has(name) && (refusesAll || raw[name] !== null));
  return unknown.slice(0, most).flatMap((name) => {
    const lower = name.toLowerCase();
    const near = nearOf(name, known, edits);
    const meant: readonly string[] = near.length > 0 ? near : (otherNames?.get(lower) ?? []);
    // A request that says the same in the field itself was written for several APIs. What may name several fields is not
    // compared with them.
    const isSaid = (field: string): boolean =>
      (raw[field] ?? null) !== null && (meant.length > 1 || textOf(raw[field]) === textOf(raw[name]));
    const isSlip = near.length > 0 || (meant.length > 0 && !meant.some(isSaid));
    if (!isSlip && !refusesAll) return [];
    const placed = meant.map((field) => (inQuery.includes(field) ? `${field} in the query` : field));
    return [{ path: [name], msg: notAField(name, known, placed), type: 'extra_forbidden' }];
  });
};

/** Finds the known name that a name looks like. */
const nearOf = (name: string, known: readonly string[], edits = maxEdits): string[] => {
  const lower = name.toLowerCase();
  if (known.includes(lower)) return [lower];
  const comparable = known.filter(({ length }) => length > longestShort);
  return [nearestName(lower, comparable, edits)].filter((near) => near !== null);
};

/** Says that a name is none of the known ones, and which one is meant. */
export const notAField = (
  name: string,
  known: readonly string[],
  meant: readonly string[] = nearOf(name, known),
): string => {
  const lower = name.toLowerCase();
  const begun = known.filter((field) => lower.length > maxEdits && field.startsWith(lower));
  const hints = meant.length > 0 ? meant : begun;
  const place = known.includes('arguments') ? '; put it in arguments' : '';
  return `is not a field here${hints.length === 0 ? place : `; did you mean ${choice(hints)}?`}`;
};

const textOf = (value: unknown): unknown => (typeof value === 'string' ? value : JSON.stringify(value));

/** Makes a 422 for a rule of a query parameter that a schema cannot express. */
export const invalidQuery = (field: string, msg: string): AppError =>
  invalid([{ loc: ['query', field], msg, type: 'value_error' }]);

/** Makes a 422 that names every wrong field and its place. */
export const invalid = (found: readonly ValidationIssue[]): AppError => {
  const issues = found.slice(0, maxIssues).map(({ loc, ...issue }) => ({ loc: loc.map(toShown), ...issue }));
  const first = issues[0];
  const param = first?.loc.slice(1).join('.') || undefined;
  const text = issues.map(({ loc, msg }) => `${loc.slice(1).join('.') || 'request'}: ${msg}`).join('; ');
  return new AppError('invalid_parameter', text, { ...(param === undefined ? {} : { param }), issues });
};

/** The names of members may be a caller's own. */
const toShown = (name: string | number): string | number =>
  typeof name === 'string' ? sanitizeLine(name).slice(0, longestShown) : name;

const source = ({ rest }: Validated, field: string): 'query' | 'path' | 'body' => {
  if (rest.path.includes(`{${field}}`)) return 'path';
  return rest.method === 'GET' || rest.query.includes(field) ? 'query' : 'body';
};

type Issue = z.core.$ZodIssue;
type UnionIssue = z.core.$ZodIssueInvalidUnion;

interface FieldIssue {
  /** The way to the field: names of members, and indices of items as numbers. */
  path: (string | number)[];
  /** Follows the field's name in a sentence and says what to do. */
  msg: string;
  /** The kind of issue, as FastAPI names it. */
  type: string;
}

/** Returns the first of zod's issues in plain words. Messages of a schema stay as they are. */
const fieldIssues = (issues: readonly Issue[]): FieldIssue[] => {
  const found = issues.slice(0, maxIssues).flatMap(placed).slice(0, maxIssues);
  // zod also checks the length of values of the wrong type. Such an issue says nothing.
  const mistyped = new Set(found.filter(({ code }) => code === 'invalid_type').map(place));
  // A whole number has the limit of its type beside its own, which comes last.
  const lastOf = new Map(found.map((issue) => [issue.code + place(issue), issue]));
  return found
    .filter((issue) => issue.code === 'invalid_type' || !mistyped.has(place(issue)))
    .filter((issue) => issue.code !== 'too_big' || lastOf.get(issue.code + place(issue)) === issue)
    .map((issue) => ({
      path: issue.path.map((key) => (typeof key === 'number' ? key : String(key))),
      msg: issueText(issue),
      type: issueType(issue),
    }));
};

const place = ({ path }: Issue): string => JSON.stringify(path);

/**
 * Returns the issue itself, or for a union the issues of the form that the value was meant to have. A union's own sentence
 * gives way only to what is wrong further in.
 */
const placed = (issue: Issue): Issue[] => {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      ...issue,
      path: [...issue.path, key],
      message: 'is not a field here',
    }));
  if (issue.code !== 'invalid_union') return [issue];
  const [meant] = (issue.errors ?? [])
    .filter((branch) =>
      isOwnSentence(issue) ? branch.every(({ path }) => path.length > 0) : wantedBy(branch).length === 0,
    )
    .toSorted((a, b) => a.length - b.length);
  if (meant === undefined) return [issue];
  return meant.flatMap((inner) => placed({ ...inner, path: [...issue.path, ...inner.path] }));
};

/** Returns the types that the value should have had. Empty when its type fits the form. */
const wantedBy = (branch: readonly Issue[]): string[] =>
  branch
    .filter(({ path }) => path.length === 0)
    .flatMap((issue) => {
      if (issue.code === 'invalid_type') return [typeName(issue.expected)];
      if (issue.code === 'invalid_value') return issue.values.map((value) => JSON.stringify(value));
      return issue.code === 'invalid_union' ? issue.errors.flatMap(wantedBy) : [];
    });

const isOwnSentence = ({ message }: Issue): boolean => !/^(?:Invalid |Too big|Too small)/.test(message);

const isMissing = ({ code, input }: Issue): boolean =>
  input === undefined && ['invalid_type', 'invalid_union', 'invalid_value'].includes(code);

const issueText = (issue: Issue): string => {
  if (isOwnSentence(issue)) return issue.message;
  // JSON has no infinity: the number was too large.
  if (typeof issue.input === 'number' && !Number.isFinite(issue.input))
    return 'must be a number within the range of a double';
  switch (issue.code) {
    case 'invalid_type':
      return isMissing(issue) ? 'is required' : `must be ${typeName(issue.expected)}`;
    case 'too_big':
      return `must ${sizeVerb(issue.origin)} at most ${issue.maximum}${sizeUnit(issue.origin)}`;
    case 'too_small':
      return hasLength(issue.origin) && Number(issue.minimum) === 1
        ? 'must not be empty'
        : `must ${sizeVerb(issue.origin)} at least ${issue.minimum}${sizeUnit(issue.origin)}`;
    case 'invalid_value':
      return `${isMissing(issue) ? 'is required and ' : ''}must be ${choice(issue.values.map((value) => JSON.stringify(value)))}`;
    case 'invalid_union':
      return isMissing(issue) ? 'is required' : unionText(issue);
    default:
      return 'has a wrong form';
  }
};

const unionText = (issue: UnionIssue): string => {
  const wanted =
    'options' in issue && Array.isArray(issue.options)
      ? issue.options.map((option) => JSON.stringify(option))
      : issue.errors.flatMap(wantedBy);
  return wanted.length === 0 ? 'has a wrong form' : `must be ${choice([...new Set(wanted)])}`;
};

/** Joins names: `a`, `a or b`, `a, b or c`. */
const choice = (words: readonly string[]): string =>
  [words.slice(0, -1).join(', '), ...words.slice(-1)].filter((text) => text !== '').join(' or ');

const typeNames: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'a JSON object',
  record: 'a JSON object',
};
const typeName = (expected: string): string => typeNames[expected] ?? expected;

const hasLength = (origin: string): boolean => origin === 'string' || origin === 'array';
const sizeVerb = (origin: string): string => (hasLength(origin) ? 'have' : 'be');
const sizeUnit = (origin: string): string =>
  origin === 'string' ? ' characters' : origin === 'array' ? ' items' : '';

const issueTypes: Partial<Record<string, string>> = {
  too_small: 'greater_than_equal',
  too_big: 'less_than_equal',
};

const issueType = (issue: Issue): string => {
  if (isMissing(issue)) return 'missing';
  return issue.code === 'invalid_type' ? `${issue.expected}_type` : (issueTypes[issue.code] ?? 'value_error');
};

const BriefList = z.core.$constructor<z.ZodArray>('BriefList', (schema, def) => {
  z.ZodArray.init(schema, def);
  const { parse } = schema._zod;
  schema._zod.parse = (payload, context) => {
    const items = payload.value;
    if (!Array.isArray(items)) return parse(payload, context);
    const parsed: unknown[] = [];
    payload.value = parsed;
    for (const [index, value] of items.entries()) {
      const item = def.element._zod.run({ value, issues: [] }, context) as z.core.ParsePayload;
      payload.issues.push(...z.core.util.prefixIssues(index, item.issues));
      parsed.push(item.value);
      if (payload.issues.length >= maxIssues) break;
    }
    return payload;
  };
});

/** Makes a list that is read until enough issues were found. To describe each of very many would hold up other calls. */
export const list = <Item extends z.ZodType>(element: Item) =>
  new BriefList({ type: 'array', element }) as unknown as z.ZodArray<Item>;

/** Adds to a refinement the issues that `schema` finds in the value at `path`, unless it has enough already. */
export const addIssues = (
  context: z.RefinementCtx,
  { schema, value, path = [] }: { schema: z.ZodType | undefined; value: unknown; path?: (string | number)[] },
): void => {
  if (context.issues.length >= maxIssues) return;
  const { error } = schema?.safeParse(value, { reportInput: true }) ?? {};
  for (const { path: inner, ...issue } of error?.issues ?? [])
    context.addIssue({ ...issue, path: [...path, ...inner] });
};
