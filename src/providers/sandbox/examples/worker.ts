import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { generateSync, type JsonSchema } from 'json-schema-faker';
import type { Json, JsonObject } from '../../../kit/json.ts';
import { serveCalls } from '../../../kit/threads/serve-calls.ts';

/** A schema with more values, data not counted, is refused. */
const maxValues = 5_000;
/** The limits of an example. A schema that demands more is refused. */
const largest: Record<string, number> = { Items: 50, Properties: 200, Length: 2_000 };
/** Keywords of the generator that are not part of JSON Schema. */
const foreignKeywords = new Set('faker chance x-faker x-chance template autoIncrement jsonPath'.split(' '));
/** Keywords whose members are schemas by name. The names are data. */
const schemaMaps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** Keywords whose values are data. */
const dataKeywords = new Set(['enum', 'const', 'default', 'examples', 'required', 'description', 'title']);
const attempts = [
  { seed: 1, alwaysFakeOptionals: true },
  { seed: 1, alwaysFakeOptionals: false },
  { seed: 2, alwaysFakeOptionals: false },
  { seed: 3, alwaysFakeOptionals: false },
];

/** Makes the same valid value for the same schema. Throws when none is found. A hostile schema can take any time. */
const makeExample = (schema: Json): unknown => {
  const small = limitSchema(schema);
  if (!isSchema(schema) || !isSchema(small)) throw new TypeError('a schema is an object or a boolean');
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

/** Makes a schema whose values are small and in general valid under `schema`. Throws RangeError for a large one. */
const limitSchema = (schema: Json): Json => {
  let values = 0;
  const limit = (value: Json, isMap = false): Json => {
    values += 1;
    if (values > maxValues) throw new RangeError('the schema is too large');
    if (Array.isArray(value)) return value.map((member) => limit(member));
    if (value === null || typeof value !== 'object') return value;
    const members = Object.entries(value).flatMap(([name, member]): [string, Json][] => {
      if (isMap) return [[name, limit(member)]];
      if (foreignKeywords.has(name)) return [];
      if (dataKeywords.has(name)) return [[name, member]];
      return [[name, limitBound(name, limit(member, schemaMaps.has(name)))]];
    });
    const limited = Object.fromEntries(members);
    return isMap ? limited : withPrefixItems(limited);
  };
  return limit(schema);
};

const limitBound = (keyword: string, value: Json): Json => {
  const [, bound, of = ''] = /^(min|max)(Items|Properties|Length)$/.exec(keyword) ?? [];
  if (typeof value !== 'number' || bound === undefined) return value;
  const limit = largest[of] ?? 0;
  if (bound === 'min' && value > limit) throw new RangeError(`the schema's ${keyword} is too large`);
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
  // The validator might lack the meta-schema of the dialect that is named.
  const plain = typeof schema === 'boolean' ? schema : { ...schema, $schema: undefined };
  try {
    return new Ajv2020(settings).compile(plain);
  } catch {
    return new Ajv(settings).compile(plain);
  }
};

serveCalls((schema: Json): string => JSON.stringify(makeExample(schema)));
