import { z } from 'zod';
import { longestIdempotencyKey } from '../operations/execute.ts';
import type { Operation } from '../operations/operation.ts';
import { outlineSchema } from './outline-schema.ts';
import { isSchema, simplifySchema, type JsonSchema } from './simplify-schema.ts';

/** A JSON Schema whose root is an object, as MCP wants for what goes into a tool and what comes out. */
export type ObjectSchema = {
  type: 'object';
  properties: Record<string, JsonSchema>;
  required?: string[];
};

/** The argument that carries what REST takes from the `Idempotency-Key` header. */
const idempotencyKeySchema: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: longestIdempotencyKey,
  description: 'The same key again answers the same job, charged once.',
};

/** What a tool takes: the operation's input, but for what it leaves unlisted. */
export const toInputSchema = (operation: Operation): ObjectSchema => {
  const { properties, required } = toObjectSchema(operation.input, 'input');
  const unlisted = operation.tool?.unlisted ?? [];
  const offered = Object.entries(properties).filter(([name]) => !unlisted.includes(name));
  return {
    type: 'object',
    properties: {
      ...Object.fromEntries(offered),
      ...(operation.sale?.prepaid !== undefined ? { idempotency_key: idempotencyKeySchema } : {}),
    },
    ...(required === undefined || required.length === 0 ? {} : { required }),
  };
};

/**
 * What a tool answers. Nothing is required at the top level: a refusal has `error`, and an unpaid call the
 * terms of its payment, in the place of the result, and clients check those against this schema too.
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
  const { properties, required } = simplifySchema(written, { isInput: io === 'input' });
  return {
    type: 'object',
    properties: isSchema(properties) ? mapMembers(properties, io === 'input' ? [] : notListed) : {},
    ...(Array.isArray(required) ? { required: required.map(String) } : {}),
  };
};

const mapMembers = (properties: JsonSchema, without: readonly string[]): Record<string, JsonSchema> =>
  Object.fromEntries(
    Object.entries(properties).map(([name, member]) => [
      name,
      isSchema(member) ? outlineSchema(member, without) : {},
    ]),
  );
