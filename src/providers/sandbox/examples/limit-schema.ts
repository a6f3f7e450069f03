import type { Json, JsonObject } from '../../../kit/json.ts';

/** The most that an example is made of; a schema that demands more is refused. */
const limits = { depth: 32, nodes: 5_000, items: 50, properties: 200, stringLength: 2_000 };

/** Keywords by which the generator would do more than JSON Schema says. */
const foreignKeywords = new Set([
  'faker',
  'chance',
  'x-faker',
  'x-chance',
  'template',
  'autoIncrement',
  'jsonPath',
]);
/** Keywords whose members are schemas by name; the names are data. */
const schemaMaps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** Keywords whose values are data. */
const dataKeywords = new Set(['enum', 'const', 'default', 'examples', 'required', 'description', 'title']);

/**
 * A schema to generate from: every value of it is also one of `schema`, but small. Throws RangeError when
 * `schema` itself demands something large.
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

/** Draft 7's tuples in the form of 2020-12, the only one that the generator knows. */
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
  const least = schema[minimum];
  if (typeof least === 'number' && least > limit)
    throw new RangeError(`the schema's ${minimum} is too large`);
  const most = schema[maximum];
  return typeof most === 'number' && most > limit ? { [maximum]: limit } : {};
};
