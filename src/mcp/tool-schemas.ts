import { z } from 'zod';
import type { Call } from '../operations/call.ts';
import type { Operation } from '../operations/definition.ts';
import { rulesOf } from '../operations/sale-rules.ts';
import type { Json, JsonObject } from '../kit/json.ts';
import { opaqueMark, restMark, unlistedMark } from '../operations/schema-marks.ts';
import { longestIdempotencyKey } from '../operations/prepaid.ts';

/** A JSON Schema with an object at its root, as MCP requires for the input and the output of a tool. */
export type ObjectSchema = { type: 'object'; properties: Record<string, JsonSchema>; required?: string[] };

/** The argument that stands for REST's `Idempotency-Key` header. */
const idempotencyKeySchema: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: longestIdempotencyKey,
  description: 'The same key again answers the same job, charged once.',
};

/** Returns the schema of the arguments of a tool, or of a call over REST: the operation's input without what is unlisted. */
export const toInputSchema = (operation: Operation, transport: Call['transport'] = 'mcp'): ObjectSchema => {
  const { properties, required } = toObjectSchema(operation.toolInput ?? operation.input, 'input');
  return {
    type: 'object',
    properties: {
      ...properties,
      ...(transport === 'mcp' && rulesOf(operation.sale).isPrepaid
        ? { idempotency_key: idempotencyKeySchema }
        : {}),
    },
    ...(required === undefined || required.length === 0 ? {} : { required }),
  };
};

/** Returns the schema of the arguments that most calls need, without their members. Null: the tool names none. */
export const toMainInputSchema = (operation: Operation): ObjectSchema | null => {
  const main = operation.tool?.main;
  if (main === undefined) return null;
  const { properties, required = [] } = toInputSchema(operation);
  return {
    type: 'object',
    properties: Object.fromEntries(
      main.map((name) => {
        const argument = properties[name];
        if (argument === undefined) throw new Error(`${operation.name} has no argument ${name}`);
        return [name, withoutMembers(argument)];
      }),
    ),
    required: required.filter((name) => main.includes(name)),
  };
};

const withoutMembers = ({ description, type, enum: values, items, anyOf }: JsonSchema): JsonSchema => ({
  ...(description === undefined ? {} : { description }),
  ...(type === undefined ? {} : { type }),
  ...(values === undefined ? {} : { enum: values }),
  ...(isSchema(items) && items['type'] !== undefined ? { items: { type: items['type'] } } : {}),
  ...(Array.isArray(anyOf) ? { anyOf: anyOf.filter(isSchema).map(withoutMembers) } : {}),
});

/**
 * Returns the schema of a tool's answer. Nothing is required at the top level, because clients check refusals and payment
 * terms against this schema too.
 */
export const toOutputSchema = (operation: Operation): ObjectSchema => ({
  type: 'object',
  properties: toObjectSchema(operation.output, 'output').properties,
});

/** The names and types of the members of an answer are enough for a model. */
const notListed = ['required', 'description'];

const toObjectSchema = (schema: z.ZodType, io: 'input' | 'output'): ObjectSchema => {
  const written: JsonSchema = JSON.parse(
    JSON.stringify(z.toJSONSchema(schema, { io, unrepresentable: 'any' })),
  );
  const simple = simplifySchema(written, io);
  const { properties, required } = io === 'input' ? simple : outlineSchema(simple, notListed);
  return {
    type: 'object',
    // Every member that simplifySchema returns is a schema.
    properties: isSchema(properties) ? (properties as Record<string, JsonSchema>) : {},
    ...(Array.isArray(required) ? { required: required.map(String) } : {}),
  };
};

/**
 * Removes words from a schema at every depth. The result accepts everything that the schema accepted. Every conversation
 * pays for a tool list, so it leaves out what a model does not need.
 */
export const outlineSchema = (schema: JsonSchema, words: readonly string[]): JsonSchema =>
  Object.fromEntries(
    Object.entries(schema)
      .filter(([word]) => !words.includes(word))
      .map(([word, value]) => [
        word,
        word === 'properties' && isSchema(value)
          ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, outline(member, words)]))
          : outline(value, words),
      ]),
  );

const outline = (value: Json, words: readonly string[]): Json => {
  if (Array.isArray(value)) return value.map((part) => outline(part, words));
  return isSchema(value) ? outlineSchema(value, words) : value;
};

export type JsonSchema = JsonObject;

const isSchema = (value: Json | undefined): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Returns the same schema in fewer words. A model reads the tool list in every conversation, so words that say nothing
 * are left out: safe-integer bounds, open `additionalProperties`, definitions of "any JSON", and all that is marked as not for
 * tools (`schema-marks.ts`). No `$ref` is left, which some assistants cannot follow. An input is also without `null`, which
 * means the same as no argument.
 */
export const simplifySchema = (schema: JsonSchema, io: 'input' | 'output'): JsonSchema => {
  // Definitions come from z.json() only; every recursive schema of an operation is "any JSON".
  if ('$ref' in schema) return {};
  if (opaqueMark in schema) return { type: 'object' };
  const { $schema: _dialect, $defs: _definitions, type, properties, items, ...rest } = schema;
  // Some assistants refuse a list of types, as in `type: ["string", "null"]`.
  const { anyOf = toAlternatives(type), ...words } = rest;
  const kept = Object.fromEntries(Object.entries(words).filter((entry) => !isEmptyWord(entry)));
  const result: JsonSchema = {
    ...(typeof type === 'string' ? { type } : {}),
    ...kept,
    ...(isSchema(kept['additionalProperties'])
      ? { additionalProperties: simplifySchema(kept['additionalProperties'], io) }
      : {}),
    ...(isSchema(items) ? { items: simplifySchema(items, io) } : {}),
    ...(isSchema(properties)
      ? {
          properties: Object.fromEntries(
            Object.entries(properties)
              .filter(([, member]) => !isSchema(member) || !(unlistedMark in member))
              .map(([name, member]) => [name, isSchema(member) ? simplifySchema(member, io) : member]),
          ),
        }
      : {}),
  };
  const simplifyAll = (alternatives: Json[]): JsonSchema[] =>
    alternatives.filter(isSchema).map((alternative) => simplifySchema(alternative, io));
  if (Array.isArray(result['oneOf'])) result['oneOf'] = simplifyAll(result['oneOf']);
  return Array.isArray(anyOf) ? withAlternatives(result, simplifyAll(anyOf), io) : result;
};

/** Whether a word means nothing to a model. */
const isEmptyWord = ([word, value]: [string, Json]): boolean =>
  (word === 'minimum' && value === Number.MIN_SAFE_INTEGER) ||
  (word === 'maximum' && value === Number.MAX_SAFE_INTEGER) ||
  word === 'propertyNames' ||
  word === restMark ||
  (word === 'additionalProperties' &&
    isSchema(value) &&
    (Object.keys(value).length === 0 || '$ref' in value));

const toAlternatives = (type: Json | undefined): JsonSchema[] | undefined =>
  Array.isArray(type) ? type.map((one) => ({ type: one })) : undefined;

const withAlternatives = (
  schema: JsonSchema,
  alternatives: JsonSchema[],
  io: 'input' | 'output',
): JsonSchema => {
  const flat = alternatives
    .flatMap((one) => bareUnionOf(one) ?? [one])
    .filter((one) => io === 'output' || one['type'] !== 'null');
  const [only] = flat;
  return only !== undefined && flat.length === 1 ? { ...only, ...schema } : { ...schema, anyOf: flat };
};

const bareUnionOf = (schema: JsonSchema): JsonSchema[] | null => {
  const { anyOf } = schema;
  return Object.keys(schema).length === 1 && Array.isArray(anyOf) ? anyOf.filter(isSchema) : null;
};
