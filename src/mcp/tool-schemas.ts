import { z } from 'zod';
import { longestIdempotencyKey } from '../operations/execute.ts';
import type { Operation } from '../operations/operation.ts';
import { outlineSchema } from './simplify-schema.ts';
import { isSchema, simplifySchema, type JsonSchema } from './simplify-schema.ts';

/** A JSON Schema with an object at its root, as MCP requires for the input and the output of a tool. */
export type ObjectSchema = { type: 'object'; properties: Record<string, JsonSchema>; required?: string[] };

/** The argument that stands for REST's `Idempotency-Key` header. */
const idempotencyKeySchema: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: longestIdempotencyKey,
  description: 'The same key again answers the same job, charged once.',
};

/** Returns the schema of a tool's arguments: the operation's input without what is unlisted. */
export const toInputSchema = (operation: Operation): ObjectSchema => {
  const { properties, required } = toObjectSchema(operation.input, 'input');
  return {
    type: 'object',
    properties: {
      ...properties,
      ...(operation.sale?.prepaid !== undefined ? { idempotency_key: idempotencyKeySchema } : {}),
    },
    ...(required === undefined || required.length === 0 ? {} : { required }),
  };
};

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
  const simple = simplifySchema(written, { isInput: io === 'input' });
  const { properties, required } = io === 'input' ? simple : outlineSchema(simple, notListed);
  return {
    type: 'object',
    // Every member that simplifySchema returns is a schema.
    properties: isSchema(properties) ? (properties as Record<string, JsonSchema>) : {},
    ...(Array.isArray(required) ? { required: required.map(String) } : {}),
  };
};
