import type { Operation } from '../operations/operation.ts';
import { annotate } from './openapi/annotate.ts';
import { headerComponents } from './openapi/header-book.ts';
import { jobWebhook } from './openapi/job-webhook.ts';
import { pascalCase, toOperationObject } from './openapi/path-item.ts';
import { inRestWords } from './openapi/rest-words.ts';
import { resultsPath } from './openapi/results-path.ts';
import { createSchemaBook, reference, type JsonSchema, type SchemaBook } from './openapi/schema-book.ts';
import {
  chatChunkSchema,
  errorEnvelopeSchema,
  errorSchema,
  jobEventSchema,
  paymentRequiredBodySchema,
  responseEventSchema,
  sandboxMarkSchema,
  validationErrorsSchema,
} from './openapi/shared-schemas.ts';
import { chatCompletionSchema, responseSchema } from './openapi/text-schemas.ts';

/** The contract's version of the interface description. */
const interfaceVersion = '0.1.0.2';

export interface OpenApiOptions {
  operations: readonly Operation[];
  publicUrl: string;
  /** The brand as people read it. */
  title: string;
  /** JSON Schema of the decoded PAYMENT-REQUIRED header. */
  paymentRequiredSchema: object;
}

/** The OpenAPI 3.1 document, made from the operations. Made once, when the gateway knows its address. */
export const createOpenApi = ({
  operations,
  publicUrl,
  title,
  paymentRequiredSchema,
}: OpenApiOptions): object => {
  const book = createSchemaBook();
  book.add('ErrorEnvelope', errorEnvelopeSchema);
  book.add('Error', errorSchema);
  book.add('ValidationErrors', validationErrorsSchema);
  if (operations.some(({ sale }) => sale?.x402 !== undefined)) {
    book.add('PaymentRequired', paymentRequiredBodySchema);
    book.add('PaymentRequiredHeader', book.lift(paymentRequiredSchema, 'PaymentRequiredHeader'));
  }
  book.add('ChatCompletionChunk', chatChunkSchema);
  book.add('ResponseStreamEvent', responseEventSchema);
  book.add('ImageJobEvent', jobEventSchema);
  const groups = new Set(operations.map(({ group }) => group));
  const paths = { ...toPaths(operations, book, title), '/results/{name}': resultsPath() };
  return {
    openapi: '3.1.0',
    info: {
      title,
      version: interfaceVersion,
      summary: `Prepaid generation by API key${groups.has('search') ? ', and influencer search paid per request' : ''}.`,
      description: introduction(title, operations),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    servers: [{ url: publicUrl }],
    tags: tags.filter(({ name }) => groups.has(name)),
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
      headers: headerComponents(),
      schemas: inRestWords(book.all(), operations),
    },
  };
};

const introduction = (title: string, operations: readonly Operation[]): string => `${services(operations)}

The operations are MCP tools at \`/mcp\` too, under their ids, but for ${withoutTool(operations)}.

- Amounts are decimal strings in USD. Timestamps are ISO 8601 and ids UUIDs, but for chat and Responses, which keep OpenAI's forms.
- Work is a job: \`queued\` and \`running\` are pending states, results exist once it is \`done\` (a video: \`completed\`).
- Send one \`Idempotency-Key\` per job of yours, and send it again when you repeat a request that timed out. Do not send the \
same request twice at the same time.
- Every answer carries \`X-Request-Id\`; 429 and 503 carry \`Retry-After\`.
- Refusals are \`{"error": {type, code, message, param}}\`. A 422 of chat and responses has \`detail\` beside it, with every \
wrong field\
${operations.some(({ sale }) => sale?.x402 !== undefined) ? '; a 422 of search is `detail` alone, and its 402 the terms of the payment' : ''}.
- Unknown fields of a request are ignored where nothing else is said.
- What a sandbox made, with no real model behind it, says so: \`metadata: {"sandbox": true}\` and \`X-${title}-Sandbox: true\`.`;

const services = (operations: readonly Operation[]): string => {
  const generation =
    "**Generation** makes images, videos and text, prepaid from an account's balance: send `Authorization: Bearer <API_KEY>`.";
  return operations.some(({ group }) => group === 'search')
    ? `Two services behind one address. ${generation} **Search** finds influencer profiles and is paid call by call with USDC (x402): no account, no key.`
    : generation;
};

/** The ids of what has no tool, results being no operation at all. */
const withoutTool = (operations: readonly Operation[]): string =>
  [...operations.filter(({ tool }) => tool === null).map(({ name }) => name), 'get_result']
    .map((name) => `\`${name}\``)
    .join(' and ');

const tags: readonly { name: Operation['group']; description: string }[] = [
  { name: 'search', description: 'Influencer search, paid per request with x402.' },
  {
    name: 'generation',
    description: 'Images, videos and text, prepaid; the account, its history and its SKUs.',
  },
];

const toPaths = (
  operations: readonly Operation[],
  book: SchemaBook,
  brand: string,
): Record<string, Record<string, object>> => {
  const paths: Record<string, Record<string, object>> = {};
  const answerNames = new Map<Operation['output'], string>();
  for (const operation of operations) {
    const { method, path } = operation.rest;
    const answerName =
      answerNames.get(operation.output) ?? nameOfAnswer(operation.name, [...answerNames.values()]);
    if (!answerNames.has(operation.output) && operation.rest.content === undefined) {
      answerNames.set(operation.output, answerName);
      book.add(
        answerName,
        wholeAnswers[answerName] ??
          withJobMembers(
            annotate(book.convert(operation.output, { io: 'output', name: answerName })),
            answerName,
          ),
      );
    }
    paths[path] = {
      ...paths[path],
      [method.toLowerCase()]: toOperationObject(operation, { book, answerName, brand }),
    };
  }
  return paths;
};

/** Answers of which an operation's own schema tells a model only the part that it reads. */
const wholeAnswers: Readonly<Record<string, object>> = {
  ChatCompletion: chatCompletionSchema,
  Response: responseSchema,
};

/** Of jobs and videos what their tools do not tell: the sandbox's mark, and that a `response` is one of the text answers. */
const withJobMembers = (schema: JsonSchema, answerName: string): JsonSchema => {
  if (answerName !== 'Job' && answerName !== 'Video') return schema;
  const { response, ...properties } = schema.properties ?? {};
  return {
    ...schema,
    properties: {
      ...properties,
      ...(response === undefined
        ? {}
        : { response: { ...response, anyOf: [reference('ChatCompletion'), reference('Response')] } }),
      metadata: sandboxMarkSchema,
    },
  };
};

/** What an operation answers, as a noun; operations that answer the same thing share its schema. */
const answerNouns: Record<string, string> = {
  search_leads: 'SearchResult',
  list_models: 'ModelList',
  get_model: 'Model',
  get_balance: 'Balance',
  get_usage: 'Usage',
  list_jobs: 'JobPage',
  list_transactions: 'TransactionPage',
  create_chat_completion: 'ChatCompletion',
  create_response: 'Response',
  get_response: 'Response',
  create_image: 'Job',
  get_job: 'Job',
  create_video: 'Video',
  get_video: 'Video',
};

const nameOfAnswer = (operation: string, taken: readonly string[]): string => {
  const noun = answerNouns[operation];
  return noun === undefined || taken.includes(noun) ? `${pascalCase(operation)}Answer` : noun;
};
