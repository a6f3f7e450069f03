import { z } from 'zod';
import { errorTable, type ErrorCode } from '../errors.ts';
import { longestIdempotencyKey } from '../operations/execute.ts';
import type { Operation } from '../operations/operation.ts';

/** The contract's version of the interface description. */
const interfaceVersion = '0.1.0.2';

export interface OpenApiOptions {
  operations: readonly Operation[];
  publicUrl: string;
  title: string;
  /** JSON Schema of the decoded PAYMENT-REQUIRED header. */
  paymentRequiredSchema: object;
}

type JsonSchema = { [key: string]: unknown; properties?: Record<string, JsonSchema>; required?: string[] };

const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const jsonContent = (schema: object) => ({ 'application/json': { schema } });

/** The OpenAPI 3.1 document, made from the operations. Made once, when the gateway knows its address. */
export const createOpenApi = (options: OpenApiOptions): object => {
  const schemas = new Map<string, object>([
    ['Error', errorSchema],
    ['ValidationErrors', validationErrorsSchema],
    ['PaymentRequired', paymentRequiredBodySchema],
  ]);
  schemas.set(
    'PaymentRequiredHeader',
    liftDefinitions(options.paymentRequiredSchema, 'PaymentRequiredHeader', schemas),
  );
  const paths = toPaths(options, schemas);
  return {
    openapi: '3.1.0',
    info: {
      title: options.title,
      version: interfaceVersion,
      description:
        'Prepaid generation of images and text by API key, and influencer search paid per request with x402. ' +
        'The same operations are MCP tools at /mcp.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: options.publicUrl }],
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key issued by the operator.' },
      },
      schemas: Object.fromEntries(schemas),
      headers: {
        RequestId: { description: 'Names this call in the log of the service.', schema: { type: 'string' } },
        RetryAfter: { description: 'Whole seconds to wait.', schema: { type: 'integer', minimum: 1 } },
      },
    },
  };
};

/**
 * A schema that can stand anywhere in the document: its `$defs` become components, `<prefix><name>`, and references to
 * them, or to places within itself, are made to point there. Draft 4's boolean `exclusiveMinimum` becomes a number.
 */
const liftDefinitions = (schema: object, prefix: string, schemas: Map<string, object>): object => {
  const rename = (reference: string): string =>
    reference.startsWith('#/$defs/')
      ? `#/components/schemas/${prefix}${reference.slice('#/$defs/'.length)}`
      : reference.replace(/^#(?=\/|$)/, `#/components/schemas/${prefix}`);
  const rewrite = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rewrite);
    if (typeof value !== 'object' || value === null) return value;
    const { $defs, ...rest } = value as JsonSchema;
    for (const [name, definition] of Object.entries(isObject($defs) ? $defs : {}))
      schemas.set(`${prefix}${name}`, rewrite(definition) as object);
    const { minimum, exclusiveMinimum } = rest;
    if (exclusiveMinimum === true) {
      delete rest['minimum'];
      rest['exclusiveMinimum'] = minimum;
    }
    return Object.fromEntries(
      Object.entries(rest).map(([name, member]) => [
        name,
        name === '$ref' && typeof member === 'string' ? rename(member) : rewrite(member),
      ]),
    );
  };
  return rewrite(schema) as object;
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

const toPaths = (options: OpenApiOptions, schemas: Map<string, object>): Record<string, object> => {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of options.operations) {
    const { method, path } = operation.rest;
    paths[path] = { ...paths[path], [method.toLowerCase()]: toPathItem(operation, schemas) };
  }
  return paths;
};

const toPathItem = (operation: Operation, schemas: Map<string, object>): object => {
  const input = toSchema(operation.input, { io: 'input', name: `${operation.name}_input`, schemas });
  const { method, query, path } = operation.rest;
  const pathNames = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
  const bodyNames = Object.keys(input.properties ?? {}).filter((name) => !query.includes(name));
  return {
    operationId: operation.name,
    summary: operation.title,
    description: operation.description,
    tags: [operation.group],
    security: operation.payment === 'x402' ? [] : [{ apiKey: [] }],
    parameters: [
      ...pathNames.map((name) => parameter('path', name, input, true)),
      ...query.map((name) => parameter('query', name, input, false)),
      ...(operation.payment === 'hold' ? [idempotencyKey] : []),
      ...(operation.payment === 'x402' ? paymentHeaders : []),
    ],
    ...(method === 'POST'
      ? { requestBody: { required: true, content: jsonContent(pick(input, bodyNames)) } }
      : {}),
    responses: { ...successResponses(operation, schemas), ...errorResponses(operation) },
  };
};

interface SchemaPlace {
  io: 'input' | 'output';
  /** Begins the names of the schema's definitions. */
  name: string;
  schemas: Map<string, object>;
}

const toSchema = (schema: z.ZodType, { io, name, schemas }: SchemaPlace): JsonSchema => {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as JsonSchema;
  return liftDefinitions(rest, name, schemas) as JsonSchema;
};

const pick = (schema: JsonSchema, names: readonly string[]): JsonSchema => ({
  ...schema,
  properties: Object.fromEntries(
    Object.entries(schema.properties ?? {}).filter(([name]) => names.includes(name)),
  ),
  required: (schema.required ?? []).filter((name) => names.includes(name)),
});

const parameter = (place: 'path' | 'query', name: string, input: JsonSchema, required: boolean) => {
  const { description, ...schema } = input.properties?.[name] ?? {};
  return { name, in: place, required, ...(description === undefined ? {} : { description }), schema };
};

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'The same key with the same request answers the same job; kept for 48 hours.',
  schema: { type: 'string', minLength: 1, maxLength: longestIdempotencyKey },
};

const paymentHeaders = ['PAYMENT-SIGNATURE', 'X-PAYMENT'].map((name) => ({
  name,
  in: 'header',
  required: false,
  description: 'An x402 payment proof, base64 of JSON. One of the two.',
  schema: { type: 'string' },
}));

const successResponses = (operation: Operation, schemas: Map<string, object>): object => {
  const content = {
    ...jsonContent(toSchema(operation.output, { io: 'output', name: `${operation.name}_output`, schemas })),
    ...(operation.rest.streams === true
      ? {
          'text/event-stream': {
            schema: { type: 'string', description: 'Chunks, then a usage event, then [DONE].' },
          },
        }
      : {}),
  };
  const headers = { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } };
  return {
    200: { description: 'Done.', headers, content },
    ...(operation.rest.accepted === true ? { 202: { description: 'Queued.', headers, content } } : {}),
  };
};

const errorResponses = ({ rest }: Operation): object => {
  const codesByStatus = Map.groupBy<number, ErrorCode>(
    [...rest.errors, 'server_error'],
    (code) => errorTable[code][0],
  );
  return Object.fromEntries(
    [...codesByStatus.entries()]
      .sort(([a], [b]) => a - b)
      .map(([status, codes]) => [
        status,
        {
          description: [...new Set(codes)].join(', '),
          headers: {
            'X-Request-Id': { $ref: '#/components/headers/RequestId' },
            ...(status === 429 || status === 503
              ? { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }
              : {}),
            ...(status === 402 && rest.errors.includes('payment_required') ? paymentRequiredHeader : {}),
          },
          content: jsonContent(errorBody(status, rest)),
        },
      ]),
  );
};

const paymentRequiredHeader = {
  'PAYMENT-REQUIRED': {
    description: 'x402 v2 terms.',
    schema: {
      type: 'string',
      contentEncoding: 'base64',
      contentMediaType: 'application/json',
      contentSchema: reference('PaymentRequiredHeader'),
    },
  },
};

const errorBody = (status: number, rest: Operation['rest']): object => {
  if (status === 402 && rest.errors.includes('payment_required')) return reference('PaymentRequired');
  if (status !== 422 || rest.validation === 'envelope') return reference('Error');
  return rest.validation === 'detail'
    ? reference('ValidationErrors')
    : { allOf: [reference('ValidationErrors'), reference('Error')] };
};

const errorSchema = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['type', 'code', 'message'],
      properties: {
        type: { type: 'string' },
        code: { type: 'string', enum: Object.keys(errorTable) },
        message: { type: 'string' },
        param: { type: ['string', 'null'] },
      },
    },
  },
};

const validationErrorsSchema = {
  type: 'object',
  required: ['detail'],
  properties: {
    detail: {
      type: 'array',
      items: {
        type: 'object',
        required: ['loc', 'msg', 'type'],
        properties: {
          loc: { type: 'array', items: { type: 'string' } },
          msg: { type: 'string' },
          type: { type: 'string' },
        },
      },
    },
  },
};

const paymentRequiredBodySchema = {
  type: 'object',
  required: ['error', 'x402', 'x402Version', 'accepts'],
  properties: {
    error: { type: 'string' },
    x402: {
      type: 'object',
      required: ['version', 'amount', 'asset', 'payTo', 'chain'],
      properties: Object.fromEntries(
        ['version', 'amount', 'asset', 'payTo', 'chain'].map((name) => [name, { type: 'string' }]),
      ),
    },
    x402Version: { type: 'integer', const: 1 },
    accepts: { type: 'array', items: { type: 'object' }, description: 'x402 v1 payment requirements.' },
  },
};
