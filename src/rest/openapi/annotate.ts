import { reference, type JsonSchema } from './schema-book.ts';

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isText = ({ type }: JsonSchema): boolean => [type].flat().includes('string');

/** What the name of a text says of its form. */
const formOf = (name: string): object => {
  if (/_at$|^from$|^to$/.test(name)) return { format: 'date-time' };
  if (/_usd$|_usd_per_1m$/.test(name)) return { pattern: String.raw`^-?\d+\.\d{2,}$` };
  return {};
};

/** Whether a schema is the inner part of a refusal, as jobs and videos carry it. */
const isEnvelope = ({ properties }: JsonSchema): boolean =>
  properties?.['code'] !== undefined && properties['message'] !== undefined;

/** An object with a closed set of members of one form, as members. */
const spread = ({ propertyNames, additionalProperties, ...schema }: JsonSchema): JsonSchema => {
  const names = isSchema(propertyNames) ? propertyNames['enum'] : undefined;
  if (!Array.isArray(names) || !isSchema(additionalProperties))
    return {
      ...schema,
      ...(propertyNames === undefined ? {} : { propertyNames }),
      ...(additionalProperties === undefined ? {} : { additionalProperties }),
    };
  const members = names.map(String);
  return {
    ...schema,
    properties: Object.fromEntries(members.map((name) => [name, additionalProperties])),
    required: members,
  };
};

/**
 * The schema of an answer with what all answers have in common: times and amounts have their form, refusals within are
 * the one envelope.
 */
export const annotate = (schema: JsonSchema): JsonSchema => {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (!isSchema(value)) return value;
    if (isEnvelope(value)) return reference('ErrorEnvelope');
    const { properties, ...rest } = spread(value);
    const members = Object.entries(properties ?? {}).map(([name, member]) => [
      name,
      walk(isText(member) ? { ...member, ...formOf(name) } : member),
    ]);
    return {
      ...Object.fromEntries(Object.entries(rest).map(([key, member]) => [key, walk(member)])),
      ...(properties === undefined ? {} : { properties: Object.fromEntries(members) as object }),
    };
  };
  return walk(schema) as JsonSchema;
};
