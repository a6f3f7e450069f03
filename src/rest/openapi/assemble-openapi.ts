import { z } from 'zod';
import { takesBody, type DescribedOperation } from '../../operations/definition.ts';
import {
  headerComponents,
  idempotencyKeyParameter,
  usageTagParameter,
  paymentParameters,
  rangeParameter,
  signInParameter,
} from './headers.ts';
import {
  createSchemaRegistry,
  isObject,
  reference,
  type SchemaRegistry,
  type JsonSchema,
} from './schema-registry.ts';
import { formatUsd } from '../../kit/money.ts';
import { rulesOf } from '../../operations/sale-rules.ts';
import type { PriceRange } from '../../payments/sale/gate.ts';
import { errorResponses, exampleKey, successResponses, takesKey } from './responses.ts';

export interface OpenApiParts {
  operations: readonly DescribedOperation[];
  publicUrl: string;
  /** Shown in names of headers. */
  brand: string;
  /** Schemas with names, beside those of answers and events. One is the `ErrorEnvelope`. */
  namedSchemas: readonly (readonly [z.ZodType, string])[];
  /** Adds schemas that are not zod's. */
  addSchemas?: (schemas: SchemaRegistry) => unknown;
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
  const schemas = createSchemaRegistry(
    new Map([...parts.namedSchemas, [validationErrors, 'ValidationErrors'], ...answerSchemas(operations)]),
  );
  schemas.add('Error', errorSchema);
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

const errorSchema = {
  type: 'object',
  description: 'The body of every refusal.',
  required: ['error'],
  properties: { error: reference('ErrorEnvelope') },
};

/** The body of a 422 that lists every wrong field. */
const validationErrors = z
  .looseObject({
    detail: z.array(
      z.looseObject({
        loc: z
          .array(z.union([z.string(), z.int()]))
          .describe(
            'The way to the field, beginning with query, body, path or header; indices of arrays are integers.',
          ),
        msg: z.string(),
        type: z.string(),
      }),
    ),
  })
  .describe('Every wrong field of a request.');

/** Returns one operation as OpenAPI's operation object. `brand` is shown in names of headers. */
const toOperationObject = (
  operation: DescribedOperation,
  { schemas, brand }: { schemas: SchemaRegistry; brand: string },
): object => {
  const { name, rest, docs, price } = operation;
  const { isPrepaid, isPaid, isSignIn } = rulesOf(operation.sale);
  const requestName = `${pascalCase(name)}Request`;
  const input = schemas.convertInput(operation.input, requestName);
  const pathNames = [...rest.path.matchAll(/\{(\w+)\}/g)].map(([, field]) => field ?? '');
  const bodySchema = bodyOf(input, [...pathNames, ...rest.query]);
  return {
    operationId: name,
    summary: operation.title,
    description: docs.description ?? operation.description,
    tags: [operation.group],
    security: securityOf(operation),
    ...(price ? { 'x-payment-info': paymentInfo(price) } : {}),
    parameters: [
      ...pathNames.map((field) => parameter(operation, { place: 'path', field, input })),
      ...rest.query.map((field) => parameter(operation, { place: 'query', field, input })),
      ...(isPrepaid ? [idempotencyKeyParameter, usageTagParameter] : []),
      ...(isPaid ? paymentParameters : []),
      ...(isSignIn ? [signInParameter] : []),
      ...(rest.content === undefined ? [] : [rangeParameter]),
    ],
    ...(rest.accepts === undefined ? {} : { requestBody: streamBody(rest.accepts) }),
    ...(takesBody(rest) && Object.keys(bodySchema.properties ?? {}).length > 0
      ? { requestBody: requestBody(operation, schemas.add(requestName, bodySchema)) }
      : {}),
    responses: { ...successResponses(operation, brand), ...errorResponses(operation, brand) },
  };
};

const securityOf = ({ sale }: DescribedOperation): object[] => {
  const key = { apiKey: [] };
  if (rulesOf(sale).key === 'needed') return [key];
  return takesKey(sale) ? [{}, key] : [];
};

/** Returns the price, where crawlers of paid interfaces such as x402scan look for it. */
const paymentInfo = ({ least, most }: PriceRange): object => ({
  protocols: ['x402'],
  price:
    least === most
      ? { mode: 'fixed', currency: 'USD', amount: formatUsd(least) }
      : {
          mode: 'dynamic',
          currency: 'USD',
          min: formatUsd(least),
          max: most === null ? null : formatUsd(most),
        },
});

const pascalCase = (name: string): string =>
  name.replace(/(?:^|_)(\w)/g, (_whole, letter: string) => letter.toUpperCase());

/** Returns the input without the fields that come in the path and the query. */
const bodyOf = (input: JsonSchema, elsewhere: readonly string[]): JsonSchema => ({
  ...input,
  properties: Object.fromEntries(
    Object.entries(input.properties ?? {}).filter(([name]) => !elsewhere.includes(name)),
  ),
  required: (input.required ?? []).filter((name) => !elsewhere.includes(name)),
});

const streamBody = (types: readonly string[]): object => ({
  required: true,
  content: Object.fromEntries(types.map((type) => [type, { schema: { type: 'string', format: 'binary' } }])),
});

const requestBody = ({ rest, docs }: DescribedOperation, schema: object): object => ({
  required: rest.isBodyOptional !== true,
  content: {
    'application/json': {
      schema,
      examples: Object.fromEntries(
        docs.examples
          .filter(({ body }) => body !== undefined)
          .map(({ summary, body }) => [exampleKey(summary), { summary, value: body }]),
      ),
    },
  },
});

const parameter = (
  { docs }: DescribedOperation,
  { place, field, input }: { place: 'path' | 'query'; field: string; input: JsonSchema },
): object => {
  const { description, ...schema } = input.properties?.[field] ?? {};
  const example = docs.examples
    .map(({ parameters }) => parameters?.[field])
    .find((value) => value !== undefined);
  return {
    name: field,
    in: place,
    required: place === 'path',
    ...(description === undefined ? {} : { description }),
    schema,
    ...(example === undefined ? {} : { example }),
  };
};
