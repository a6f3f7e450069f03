import { Script, createContext } from 'node:vm';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { sha256 } from '../kit/ids.ts';
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../kit/json.ts';
import type { MountConfig } from './mount-settings.ts';
import { publicName, shownName } from './public-name.ts';

/** What a model reads of a tool. */
export interface ToolDefinition {
  name: string;
  title?: string;
  description?: string;
  inputSchema: JsonObject;
  outputSchema?: JsonObject;
  annotations?: JsonObject;
}

/** A tool that a mounted server lists. */
export type ListedTool = { name: string } & (
  | { definition: ToolDefinition; pin: string; problem: null }
  /** It cannot be offered. */
  | { definition: null; pin: null; problem: string }
);

/** The longest name of a tool with that of its server, which the APIs of models take. */
const maxName = 64;
const maxTitle = 200;
const maxDescription = 8_000;
const maxCharacters = 65_536;
const maxDepth = 32;
/** Of a list or an object in a schema: to compile more takes seconds, in which nothing else runs. */
const maxMembers = 500;
/** A compiler keeps something of each schema, also of those that are removed, so another one follows in time. */
const maxCompiled = 100;
/** Nothing else runs meanwhile. */
const maxCheckMs = 500;

/**
 * Characters that people do not see: control characters but line breaks and tabs, and what is invisible, reverses text or
 * carries hidden text. U+FE0F stays, because emoji have it.
 */
const unseen =
  /[[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]--[\n\r\t]--\u{FE0F}]/v;

const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];
const references: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef']);

/** Reads the name of a listed tool. Null: it has none, also of the operator's, that models could call. */
export const readToolName = (listed: unknown, config: Pick<MountConfig, 'name' | 'tools'>): string | null => {
  const name = isJsonObject(listed) ? listed['name'] : null;
  if (typeof name !== 'string') return null;
  const shown = shownName(config, name);
  return /^[A-Za-z0-9_-]+$/.test(shown) && publicName(config.name, shown).length <= maxName ? name : null;
};

/** Checks one tool of a list, so that a bad one hides itself alone. `known`: it was so in the list before. */
export const checkTool = (listed: JsonObject, name: string, known?: ListedTool): ListedTool => {
  const definition = readDefinition(listed, name);
  if (typeof definition === 'string') return refused(name, definition);
  const problem = findProblem(definition);
  if (problem !== null) return refused(name, problem);
  const pin = sha256(canonicalJson(definition));
  if (pin === known?.pin) return known;
  return isBroken(definition)
    ? refused(name, 'One of its schemas is not valid.')
    : { name, definition, pin, problem: null };
};

export const refused = (name: string, problem: string): ListedTool => ({
  name,
  definition: null,
  pin: null,
  problem,
});

/** Takes the members that a model reads. Returns a sentence if one has a wrong type. */
const readDefinition = (listed: JsonObject, name: string): ToolDefinition | string => {
  const { inputSchema, annotations } = listed;
  const title = listed['title'] ?? undefined;
  const description = listed['description'] ?? undefined;
  const outputSchema = listed['outputSchema'] ?? undefined;
  if (!isText(title, maxTitle)) return `Its title is no text of at most ${maxTitle} characters.`;
  if (!isText(description, maxDescription))
    return `Its description is no text of at most ${maxDescription} characters.`;
  if (!isObjectSchema(inputSchema)) return 'Its inputSchema is no schema of an object.';
  if (outputSchema !== undefined && !isObjectSchema(outputSchema))
    return 'Its outputSchema is no schema of an object.';
  const known = Object.entries(isJsonObject(annotations) ? annotations : {}).filter(
    ([hint, value]) => hints.includes(hint) && typeof value === 'boolean',
  );
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(known.length === 0 ? {} : { annotations: Object.fromEntries(known) }),
  };
};

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const isText = (value: Json | undefined, maximum: number): value is string | undefined =>
  value === undefined || (typeof value === 'string' && value.length <= maximum);

const isObjectSchema = (value: Json | undefined): value is JsonObject =>
  isJsonObject(value) && value['type'] === 'object';

const findProblem = (definition: ToolDefinition): string | null => {
  // First, because what is nested too deep cannot be written as text.
  const problem = findInside(definition, 0);
  if (problem !== null) return problem;
  return JSON.stringify(definition).length > maxCharacters
    ? `Its definition is longer than ${maxCharacters} characters.`
    : null;
};

const findInside = (value: unknown, depth: number): string | null => {
  if (typeof value === 'string')
    return unseen.test(value) ? 'It has control characters or invisible characters.' : null;
  if (!isObject(value)) return null;
  if (depth > maxDepth) return `Its schemas are nested deeper than ${maxDepth} levels.`;
  for (const [key, member] of Object.entries(value)) {
    if (references.has(key) && typeof member === 'string' && !member.startsWith('#'))
      return 'A schema refers to another document ($ref).';
    if (key !== 'enum' && isObject(member) && Object.keys(member).length > maxMembers)
      return `A list in its schemas has more than ${maxMembers} members.`;
    const found = findInside(key, depth) ?? findInside(member, depth + 1);
    if (found !== null) return found;
  }
  return null;
};

/** Clients compile the schemas of all tools, and lose all of them with one that is broken. */
const isBroken = ({ inputSchema, outputSchema = inputSchema }: ToolDefinition): boolean => {
  try {
    compile(inputSchema);
    compile(outputSchema);
    return false;
  } catch {
    return true;
  }
};

/** Throws if the schema is not valid. A schema that names no dialect may be of the last draft, or of one before. */
const compile = ({ $schema: dialect, $id: _name, ...schema }: JsonObject): ValidateFunction => {
  compilers ??= { last: new Ajv2020(compilerOptions), earlier: new Ajv(compilerOptions) };
  const { last, earlier } = compilers;
  compiled += 1;
  if (compiled % maxCompiled === 0) compilers = null;
  if (typeof dialect === 'string' && /draft-0\d/.test(dialect)) return compileBy(earlier, schema);
  try {
    return compileBy(last, schema);
  } catch {
    return compileBy(earlier, schema);
  }
};

const compileBy = (ajv: Ajv | Ajv2020, schema: JsonObject): ValidateFunction => {
  try {
    return ajv.compile(schema);
  } finally {
    ajv.removeSchema(schema);
  }
};

const compilerOptions = {
  strict: false,
  validateFormats: false,
  logger: false,
  // Otherwise a schema grows with each of its references, so that a short one takes all memory.
  inlineRefs: false,
  // Otherwise its code nests as deep as a list has members, and whether that is too deep depends on the caller.
  allErrors: true,
  code: { optimize: false },
} as const;

let compiled = 0;
let compilers: { last: Ajv2020; earlier: Ajv } | null = null;

/** Null: the schema takes too long. */
const validators = new WeakMap<JsonObject, ValidateFunction | null>();
const check = new Script('validate(value)');
const checked = createContext({});

/**
 * Finds what a value has that the schema of an accepted tool does not take. A schema can be one that takes hours to check,
 * so one that once took longer than a moment has nothing more to say.
 */
export const findMisfits = (schema: JsonObject, value: Json): ErrorObject[] => {
  const known = validators.get(schema);
  if (known === null) return [];
  const validate = known ?? compile(schema);
  validators.set(schema, validate);
  try {
    Object.assign(checked, { validate, value });
    const fits: unknown = check.runInContext(checked, { timeout: maxCheckMs });
    return fits === true ? [] : (validate.errors ?? []);
  } catch {
    validators.set(schema, null);
    return [];
  }
};
