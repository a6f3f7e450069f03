import type { Json, JsonObject } from '../../../kit/json.ts';

/** The limits of an example. A schema that demands more is refused. */
const limits = { depth: 32, nodes: 5_000, items: 50, properties: 200, stringLength: 2_000 };

/** Keywords of the generator that are not part of JSON Schema. */
const foreignKeywords = new Set([
  'faker',
  'chance',
  'x-faker',
  'x-chance',
  'template',
  'autoIncrement',
  'jsonPath',
]);
/** Keywords whose members are schemas by name. The names are data. */
const schemaMaps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** Keywords whose values are data. */
const dataKeywords = new Set(['enum', 'const', 'default', 'examples', 'required', 'description', 'title']);

/**
 * Makes a schema to generate from: each of its values is small and valid under `schema`. Throws RangeError when `schema`
 * demands something large.
 */
export const limitSchema = (schema: Json): Json => {
  let nodes = 0;

  const limit = (value: Json, depth: number): Json => {
    nodes += 1;
    if (depth > limits.depth || nodes > limits.nodes) throw new RangeError('the schema is too large');
    if (Array.isArray(value)) return value.map((member) => limit(member, depth + 1));
    if (value === null || typeof value !== 'object') return value;
    const members = Object.entries(value).filter(([keyword]) => !foreignKeywords.has(keyword));
    return smaller(
      Object.fromEntries(
        members.map(([keyword, member]) => [
          keyword,
          dataKeywords.has(keyword)
            ? member
            : schemaMaps.has(keyword)
              ? limitNamed(member, depth + 1)
              : limit(member, depth + 1),
        ]),
      ),
    );
  };

  const limitNamed = (map: Json, depth: number): Json =>
    map === null || typeof map !== 'object' || Array.isArray(map)
      ? map
      : Object.fromEntries(Object.entries(map).map(([name, member]) => [name, limit(member, depth + 1)]));

  return limit(schema, 0);
};

const smaller = (schema: JsonObject): JsonObject => withPrefixItems(withSmallSizes(schema));

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

const withSmallSizes = (schema: JsonObject): JsonObject => ({
  ...schema,
  ...smallSize(schema, { minimum: 'minItems', maximum: 'maxItems', limit: limits.items }),
  ...smallSize(schema, { minimum: 'minProperties', maximum: 'maxProperties', limit: limits.properties }),
  ...smallSize(schema, { minimum: 'minLength', maximum: 'maxLength', limit: limits.stringLength }),
});

const smallSize = (
  schema: JsonObject,
  { minimum, maximum, limit }: { minimum: string; maximum: string; limit: number },
): JsonObject => {
  const lower = schema[minimum];
  if (typeof lower === 'number' && lower > limit)
    throw new RangeError(`the schema's ${minimum} is too large`);
  const upper = schema[maximum];
  return typeof upper === 'number' && upper > limit ? { [maximum]: limit } : {};
};
