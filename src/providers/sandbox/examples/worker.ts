import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { generateSync, type JsonSchema } from 'json-schema-faker';
import type { Json, JsonObject } from '../../../kit/json.ts';
import { serveCalls } from '../../../kit/threads/serve-calls.ts';

/** A schema with more values is refused. */
const maxValues = 10_000;
/** The limits of an example. A schema that demands more is refused. */
const largest: Record<string, number> = { Items: 50, Properties: 200, Length: 2_000 };
const attempts = [
  { seed: 1, alwaysFakeOptionals: true },
  { seed: 1, alwaysFakeOptionals: false },
  { seed: 2, alwaysFakeOptionals: false },
  { seed: 3, alwaysFakeOptionals: false },
];

/**
 * Makes a value that is valid under `schema`, the same for the same schema. Throws when none is found. It runs in a
 * thread, because a hostile schema can take any time.
 */
const makeExample = (schema: Json): unknown => {
  if (!isSchema(schema)) throw new TypeError('a schema is an object or a boolean');
  const small = limitSchema(schema);
  const isValid = compile(schema);
  let lastError: unknown = new Error('no generated value is valid');
  for (const attempt of attempts) {
    try {
      const example = generateSync(small, {
        ...attempt,
        refDepthMax: 3,
        maxDefaultItems: 3,
        useExamplesValue: true,
      });
      if (isValid(example)) return example;
    } catch (error) {
      lastError = error;
    }
  }
  throw lastError;
};

const isSchema = (value: Json): value is JsonSchema & Json =>
  typeof value === 'boolean' || (value !== null && typeof value === 'object' && !Array.isArray(value));

/**
 * Makes a schema to generate from: its values are small and in general valid under `schema`. Throws RangeError when
 * `schema` is large or demands something large.
 */
const limitSchema = (schema: JsonSchema): JsonSchema => {
  let values = 0;
  return JSON.parse(JSON.stringify(schema), (name, value: Json): Json => {
    values += 1;
    if (values > maxValues) throw new RangeError('the schema is too large');
    const [, bound, of = ''] = /^(min|max)(Items|Properties|Length)$/.exec(name) ?? [];
    if (typeof value === 'number' && bound !== undefined) return limitBound(value, bound, of);
    return value !== null && typeof value === 'object' && !Array.isArray(value)
      ? withPrefixItems(value)
      : value;
  });
};

const limitBound = (value: number, bound: string, of: string): number => {
  const limit = largest[of] ?? 0;
  if (bound === 'min' && value > limit) throw new RangeError(`the schema's min${of} is too large`);
  return Math.min(value, limit);
};

/** Converts tuples of draft 7 to 2020-12, the only form that the generator knows. */
const withPrefixItems = (schema: JsonObject): JsonObject => {
  const { items, additionalItems, ...rest } = schema;
  if (!Array.isArray(items)) return schema;
  return {
    ...rest,
    prefixItems: items,
    ...(additionalItems === undefined ? {} : { items: additionalItems }),
  };
};

/** Compiles by JSON Schema 2020-12, or by draft 7 when that fails. Formats are not checked. */
const compile = (schema: JsonSchema): ValidateFunction => {
  // The meta-schemas are left out, because they would be compiled each time.
  const settings = {
    strict: false,
    validateFormats: false,
    logger: false,
    meta: false,
    validateSchema: false,
  } as const;
  const plain = withoutDialect(schema);
  try {
    return new Ajv2020(settings).compile(plain);
  } catch {
    return new Ajv(settings).compile(plain);
  }
};

/** Removes the name of the dialect, for which the validator might lack a meta-schema. */
const withoutDialect = (schema: JsonSchema): JsonSchema => {
  if (typeof schema === 'boolean') return schema;
  const { $schema: _dialect, ...rest } = schema;
  return rest;
};

serveCalls((schema: Json): string => JSON.stringify(makeExample(schema)));
