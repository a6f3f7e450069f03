import { errorEnvelope } from '../operations/answer-fields.ts';
import type { Operation } from '../operations/definition.ts';
import { offerOf, rulesOf } from '../operations/sale-rules.ts';
import { decapitalised, nameAll } from './describe-service.ts';
import { assembleOpenApi } from './openapi/assemble-openapi.ts';
import { paymentRequiredBody } from './openapi/payment-required.ts';
import type { EventDocs } from '../operations/operation-docs.ts';
import { reference } from './openapi/schema-registry.ts';
import { filmsPath, resultsPath } from './openapi/open-media.ts';

/** The contract's version of the interface description. */
const interfaceVersion = '0.1.0.2';

export interface OpenApiOptions {
  operations: readonly Operation[];
  publicUrl: string;
  /** The brand, as shown to people. */
  title: string;
  /** The ways to pay for single calls, as people read them. */
  protocols: readonly string[];
  /** JSON Schema of the decoded PAYMENT-REQUIRED header. */
  paymentRequiredSchema: object;
}

/** Makes the OpenAPI 3.1 document from the operations. Called once, when the gateway knows its address. */
export const createOpenApi = ({
  operations,
  publicUrl,
  title,
  protocols,
  paymentRequiredSchema,
}: OpenApiOptions): object => {
  const isPaid = operations.some(({ sale }) => rulesOf(sale).isPaid);
  return assembleOpenApi({
    operations,
    publicUrl,
    brand: title,
    namedSchemas: [
      [errorEnvelope, 'ErrorEnvelope'],
      ...(isPaid ? ([[paymentRequiredBody, 'PaymentRequired']] as const) : []),
    ],
    addSchemas: ({ add, lift }) =>
      isPaid && add('PaymentRequiredHeader', lift(paymentRequiredSchema, 'PaymentRequiredHeader')),
    info: {
      title,
      version: interfaceVersion,
      summary: summaryOf(operations),
      description: introduction(title, operations, protocols),
    },
    tags: tagsOf(operations),
    paths: { '/results/{name}': resultsPath(), '/films/{token}': filmsPath() },
    webhooks: eventWebhooks(operations, title),
    keyDescription:
      'An API key, `sk_…`, issued by the operator, or made with `POST /v1/keys`. Keep it on your servers.',
  });
};

/** Names what is sold call by call alone, such as "Influencer search". Empty: nothing is. */
const goodsOf = (operations: readonly Operation[]): string =>
  nameAll(
    operations.flatMap(({ sale }) => (rulesOf(sale).isAnswer ? (offerOf(sale)?.description ?? []) : [])),
  );

/** Whether wallets can buy the operations that are prepaid with a key. */
const takesWallets = (operations: readonly Operation[]): boolean =>
  operations.some(({ sale }) => rulesOf(sale).isCredit);

const summaryOf = (operations: readonly Operation[]): string => {
  const goods = decapitalised(goodsOf(operations));
  const generation = takesWallets(operations)
    ? 'Generation, prepaid by API key or paid per request'
    : 'Prepaid generation by API key';
  return `${generation}${goods === '' ? '' : `, and ${goods} paid per request`}.`;
};

const introduction = (
  title: string,
  operations: readonly Operation[],
  protocols: readonly string[],
): string => `${services(operations, protocols)}

The operations are MCP tools at \`/mcp\` too, under their ids, but for ${withoutTool(operations)}.

- Amounts are decimal strings in USD. Timestamps are ISO 8601 and ids UUIDs, but for chat and Responses, which keep OpenAI's forms.
- Work is a job: \`queued\` and \`running\` are pending states, results exist once it is \`done\` (a video: \`completed\`).
- Send one \`Idempotency-Key\` per job of yours, and send it again when you repeat a request that timed out. Do not send the \
same request twice at the same time.
- Every answer carries \`X-Request-Id\`; 429 and 503 carry \`Retry-After\`.
- Refusals are \`{"error": {type, code, message, param}}\`. A 422 of chat and responses has \`detail\` beside it, with every \
wrong field${soldRefusals(operations)}.
- Unknown fields of a request are ignored. But in all paid calls except chat and responses, one that looks like a known one, \
or that another API has for it, is a 422 that names the known one.
- What a sandbox made, with no real model behind it, says so: \`metadata: {"sandbox": true}\` and \`X-${title}-Sandbox: true\`.`;

const services = (operations: readonly Operation[], protocols: readonly string[]): string => {
  const goods = goodsOf(operations);
  const payment = `call by call with USDC (${protocols.join(' or ')})`;
  return (
    "**Generation** makes images, videos and text, prepaid from an account's balance: send `Authorization: Bearer <API_KEY>`." +
    (takesWallets(operations)
      ? ` Without a key it is paid ${payment}, and what a call does not use is balance of the wallet's account.`
      : '') +
    (goods === '' ? '' : ` **${goods}** is paid ${payment}: no account, no key.`)
  );
};

/** Says which refusals of paid calls have a form of their own. */
const soldRefusals = (operations: readonly Operation[]): string => {
  const units = operations.flatMap(({ rest, sale }) =>
    rest.validation === 'detail' ? (offerOf(sale)?.unit.one ?? []) : [],
  );
  return units.length === 0
    ? ''
    : `; a 422 of ${nameAll(units)} is \`detail\` alone, and its 402 the terms of the payment`;
};

/** Returns the ids of what has no tool. Result downloads are not even an operation. */
const withoutTool = (operations: readonly Operation[]): string =>
  nameAll(
    [...operations.filter(({ tool }) => tool === null).map(({ name }) => name), 'get_result', 'get_film'].map(
      (name) => `\`${name}\``,
    ),
  );

const tagsOf = (operations: readonly Operation[]): { name: string; description: string }[] =>
  [...Map.groupBy(operations, ({ group }) => group)].map(([name, members]) => {
    const goods = goodsOf(members);
    const prepaid = takesWallets(members) ? 'prepaid, or paid per request with x402' : 'prepaid';
    if (name === 'tools') return { name, description: `Tools of other MCP servers, free, ${prepaid}.` };
    const description =
      goods === ''
        ? `Images, videos and text, ${prepaid}; the account, its history and its SKUs.`
        : `${goods}, paid per request with x402.`;
    return { name, description };
  });

const header = (name: string, description: string, example: string): object => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
  example,
});

/** Returns the document's `webhooks`: the events that operations lead to. */
const eventWebhooks = (operations: readonly Operation[], brand: string): object =>
  Object.fromEntries(
    operations.flatMap(({ docs: { event } }) =>
      event === undefined ? [] : [[event.name, { post: eventWebhook(event, brand) }]],
    ),
  );

const eventWebhook = ({ name, summary, when, schemaName, example }: EventDocs, brand: string): object => ({
  operationId: name,
  summary,
  description:
    `${when} Read the raw body before you parse it. The documented ` +
    `signature is \`X-${brand}-Signature: t=<unix seconds>,v1=<hex>\`: HMAC-SHA256 over the timestamp, a period and ` +
    'the raw body, keyed by webhook_secret of GET /v1/balance as it stands. Compare in constant time, take any of ' +
    'several v1 values, and refuse timestamps more than 300 seconds away. The webhook-* headers carry the same event ' +
    'for verifiers of Standard Webhooks. Any 2xx ends the delivery; 410 stops it; anything else is tried again after ' +
    '5 s, 30 s, 2 min, 10 min, 30 min, 2 h, 6 h and 12 h; Retry-After of a 429 or 503 makes the wait longer, up to the ' +
    'next of these steps. The same event can come more than once: its event_id stays.',
  tags: ['generation'],
  security: [],
  parameters: [
    header(
      `X-${brand}-Signature`,
      'Two v1 values for 24 hours after the secret was rotated.',
      't=1795253406,v1=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39',
    ),
    header('webhook-id', 'The event_id.', '9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d'),
    header('webhook-timestamp', 'Unix seconds of this attempt.', '1795253406'),
    header(
      'webhook-signature',
      'Standard Webhooks: `v1,` and base64; several are divided by spaces.',
      'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
    ),
  ],
  requestBody: {
    required: true,
    content: {
      'application/json': {
        schema: reference(schemaName),
        example,
      },
    },
  },
  responses: {
    '2XX': { description: 'Received. Answer at once and work afterwards.' },
    410: { description: 'Stops the delivery of this event.' },
    default: { description: 'Delivered again later.' },
  },
});
