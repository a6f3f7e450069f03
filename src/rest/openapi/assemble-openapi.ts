import type { z } from 'zod';
import type { DescribedOperation } from '../../operations/definition.ts';
import { headerComponents } from './headers.ts';
import { toOperationObject } from './operation-object.ts';
import { createSchemaRegistry, isObject, reference, type SchemaRegistry } from './schema-registry.ts';

export interface OpenApiParts {
  operations: readonly DescribedOperation[];
  publicUrl: string;
  /** Shown in names of headers. */
  brand: string;
  /** Schemas with names, beside those of answers and events. One is the `ErrorEnvelope`. */
  namedSchemas: readonly [z.ZodType, string][];
  /** Adds schemas that are not zod's. */
  addSchemas?: (schemas: SchemaRegistry) => void;
  info: { title: string; version: string; summary: string; description: string };
  tags: readonly { name: string; description: string }[];
  /** Paths beside those of the operations. */
  paths?: Record<string, object>;
  webhooks?: object;
  /** Describes the bearer key. */
  keyDescription: string;
}

/** Makes an OpenAPI 3.1 document of operations. */
export const assembleOpenApi = ({ operations, ...parts }: OpenApiParts): object => {
  const schemas = createSchemaRegistry(new Map([...parts.namedSchemas, ...answerSchemas(operations)]));
  schemas.add('Error', errorSchema);
  schemas.add('ValidationErrors', validationErrorsSchema);
  parts.addSchemas?.(schemas);
  const paths = { ...toPaths(operations, schemas, parts.brand), ...parts.paths };
  return {
    openapi: '3.1.0',
    info: { ...parts.info, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    servers: [{ url: parts.publicUrl }],
    tags: parts.tags,
    paths: inRestWords(paths, operations),
    ...(parts.webhooks === undefined ? {} : { webhooks: parts.webhooks }),
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: parts.keyDescription },
      },
      headers: headerComponents(operations),
      schemas: inRestWords(schemas.all(), operations),
    },
  };
};

/** Returns the schemas of answers and of streamed events with their names. */
const answerSchemas = (operations: readonly DescribedOperation[]): [z.ZodType, string][] =>
  operations.flatMap(({ output, docs: { answer, event, stream } }): [z.ZodType, string][] => [
    ...(answer === null ? [] : [[output, answer] as [z.ZodType, string]]),
    ...(event === undefined ? [] : [[event.schema, event.schemaName] as [z.ZodType, string]]),
    ...(stream === undefined ? [] : [[stream.event, stream.eventName] as [z.ZodType, string]]),
  ]);

const toPaths = (
  operations: readonly DescribedOperation[],
  schemas: SchemaRegistry,
  brand: string,
): Record<string, Record<string, object>> => {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations) {
    const { rest } = operation;
    paths[rest.path] = {
      ...paths[rest.path],
      [rest.method.toLowerCase()]: toOperationObject(operation, { schemas, brand }),
    };
  }
  return paths;
};

/** Replaces operation names in descriptions by method and path, since callers over HTTP do not know the tools' names. */
const inRestWords = <T extends object>(part: T, operations: readonly DescribedOperation[]): T => {
  const calls = new Map(operations.map(({ name, rest }) => [name, `\`${rest.method} ${rest.path}\``]));
  const named = new RegExp(String.raw`\b(?:${[...calls.keys()].join('|')})\b`, 'g');
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [
        key,
        key === 'description' && typeof member === 'string'
          ? member.replace(named, (name) => calls.get(name) ?? name)
          : walk(member),
      ]),
    );
  };
  return walk(part) as T;
};

const text = { type: 'string' };

const errorSchema = {
  type: 'object',
  description: 'The body of every refusal.',
  required: ['error'],
  properties: { error: reference('ErrorEnvelope') },
};

/** The body of a 422 that lists every wrong field. */
const validationErrorsSchema = {
  type: 'object',
  description: 'Every wrong field of a request.',
  required: ['detail'],
  properties: {
    detail: {
      type: 'array',
      items: {
        type: 'object',
        required: ['loc', 'msg', 'type'],
        properties: {
          loc: {
            type: 'array',
            items: { type: ['string', 'integer'] },
            description:
              'The way to the field, beginning with query, body, path or header; indices of arrays are integers.',
          },
          msg: text,
          type: text,
        },
      },
    },
  },
};
