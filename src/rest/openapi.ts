import type { z } from 'zod';
import { errorEnvelope } from '../operations/answer-fields.ts';
import { imageEventSchema } from '../operations/images/image-event-schema.ts';
import type { Operation } from '../operations/operation.ts';
import { headerComponents } from './openapi/headers.ts';
import { jobWebhook } from './openapi/job-webhook.ts';
import { toOperationObject } from './openapi/operation-object.ts';
import { paymentRequiredBodySchema } from './openapi/payment-required.ts';
import { resultsPath } from './openapi/results-path.ts';
import { createSchemaRegistry, isObject, reference, type SchemaRegistry } from './openapi/schema-registry.ts';

/** The contract's version of the interface description. */
const interfaceVersion = '0.1.0.2';

export interface OpenApiOptions {
  operations: readonly Operation[];
  publicUrl: string;
  /** The brand, as shown to people. */
  title: string;
  /** JSON Schema of the decoded PAYMENT-REQUIRED header. */
  paymentRequiredSchema: object;
}

/** Makes the OpenAPI 3.1 document from the operations. Called once, when the gateway knows its address. */
export const createOpenApi = ({
  operations,
  publicUrl,
  title,
  paymentRequiredSchema,
}: OpenApiOptions): object => {
  const schemas = createSchemaRegistry(namedSchemas(operations));
  schemas.add('Error', errorSchema);
  schemas.add('ValidationErrors', validationErrorsSchema);
  const goods = goodsOf(operations);
  if (goods !== '') {
    schemas.add('PaymentRequired', paymentRequiredBodySchema);
    schemas.add('PaymentRequiredHeader', schemas.lift(paymentRequiredSchema, 'PaymentRequiredHeader'));
  }
  const paths = { ...toPaths(operations, schemas, title), '/results/{name}': resultsPath() };
  return {
    openapi: '3.1.0',
    info: {
      title,
      version: interfaceVersion,
      summary: `Prepaid generation by API key${goods === '' ? '' : `, and ${decapitalised(goods)} paid per request`}.`,
      description: introduction(title, operations),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    servers: [{ url: publicUrl }],
    tags: tagsOf(operations),
    paths: inRestWords(paths, operations),
    webhooks: jobWebhook(title),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key, `sk_…`, issued by the operator. Keep it on your servers.',
        },
      },
      headers: headerComponents(operations),
      schemas: inRestWords(schemas.all(), operations),
    },
  };
};

const nameAll = (names: readonly string[]): string => new Intl.ListFormat('en').format(names);

const decapitalised = (text: string): string => text.replace(/^./, (first) => first.toLowerCase());

/** Names what is sold call by call, such as "Influencer search". Empty: nothing is. */
const goodsOf = (operations: readonly Operation[]): string =>
  nameAll(operations.flatMap(({ sale }) => sale?.x402?.description ?? []));

const introduction = (title: string, operations: readonly Operation[]): string => `${services(operations)}

The operations are MCP tools at \`/mcp\` too, under their ids, but for ${withoutTool(operations)}.

- Amounts are decimal strings in USD. Timestamps are ISO 8601 and ids UUIDs, but for chat and Responses, which keep OpenAI's forms.
- Work is a job: \`queued\` and \`running\` are pending states, results exist once it is \`done\` (a video: \`completed\`).
- Send one \`Idempotency-Key\` per job of yours, and send it again when you repeat a request that timed out. Do not send the \
same request twice at the same time.
- Every answer carries \`X-Request-Id\`; 429 and 503 carry \`Retry-After\`.
- Refusals are \`{"error": {type, code, message, param}}\`. A 422 of chat and responses has \`detail\` beside it, with every \
wrong field${soldRefusals(operations)}.
- Unknown fields of a request are ignored where nothing else is said.
- What a sandbox made, with no real model behind it, says so: \`metadata: {"sandbox": true}\` and \`X-${title}-Sandbox: true\`.`;

const services = (operations: readonly Operation[]): string => {
  const goods = goodsOf(operations);
  return (
    "**Generation** makes images, videos and text, prepaid from an account's balance: send `Authorization: Bearer <API_KEY>`." +
    (goods === '' ? '' : ` **${goods}** is paid call by call with USDC (x402): no account, no key.`)
  );
};

/** Says which refusals of paid calls have a form of their own. */
const soldRefusals = (operations: readonly Operation[]): string => {
  const units = nameAll(operations.flatMap(({ sale }) => sale?.x402?.unit.one ?? []));
  return units === '' ? '' : `; a 422 of ${units} is \`detail\` alone, and its 402 the terms of the payment`;
};

/** Returns the ids of what has no tool. Result downloads are not even an operation. */
const withoutTool = (operations: readonly Operation[]): string =>
  [...operations.filter(({ tool }) => tool === null).map(({ name }) => name), 'get_result']
    .map((name) => `\`${name}\``)
    .join(' and ');

const tagsOf = (operations: readonly Operation[]): { name: string; description: string }[] =>
  [...Map.groupBy(operations, ({ group }) => group)].map(([name, members]) => {
    const goods = goodsOf(members);
    const description =
      goods === ''
        ? 'Images, videos and text, prepaid; the account, its history and its SKUs.'
        : `${goods}, paid per request with x402.`;
    return { name, description };
  });

/** Returns the schemas of answers and of streamed events with their names. */
const namedSchemas = (operations: readonly Operation[]): ReadonlyMap<z.ZodType, string> =>
  new Map<z.ZodType, string>([
    [errorEnvelope, 'ErrorEnvelope'],
    [imageEventSchema, 'ImageJobEvent'],
    ...operations.flatMap(({ output, docs: { answer, stream } }): [z.ZodType, string][] => [
      ...(answer === null ? [] : [[output, answer] as [z.ZodType, string]]),
      ...(stream === undefined ? [] : [[stream.event, stream.eventName] as [z.ZodType, string]]),
    ]),
  ]);

const toPaths = (
  operations: readonly Operation[],
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
const inRestWords = <T extends object>(part: T, operations: readonly Operation[]): T => {
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
