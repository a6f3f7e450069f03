import type { Operation } from '../../operations/definition.ts';
import type { EventDocs } from '../../operations/operation-docs.ts';
import { reference } from './schema-registry.ts';

const header = (name: string, description: string, example: string): object => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
  example,
});

/** Returns the document's `webhooks`: the events that operations lead to. */
export const eventWebhooks = (operations: readonly Operation[], brand: string): object =>
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
