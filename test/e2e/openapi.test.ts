import { createHash } from 'node:crypto';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorTable, type ErrorCode } from '../../src/kit/errors.ts';
import type { OperationDocs } from '../../src/operations/operation-docs.ts';
import { operations } from '../operations/test-operations.ts';
import { resolveSchema, type Description, type DescribedCall, type Schema } from './interface-description.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';
import { isSold, rulesOf } from '../../src/operations/sale-rules.ts';

let gateway: TestGateway;
let document: Description;

beforeAll(async () => {
  gateway = await startTestGateway({ environment: { SEARCH_MAX_LIMIT: '50' } });
  document = (await (await gateway.call('/openapi.json', { apiKey: null })).json()) as Description;
});

afterAll(async () => {
  await gateway.stop();
});

const errorsOfAll = ['rate_limit_exceeded', 'server_error', 'upstream_unavailable', 'shutting_down'] as const;
const errorsBySale = {
  open: [],
  none: ['invalid_api_key'],
  hold: [
    'invalid_api_key',
    'model_not_found',
    'insufficient_balance',
    'idempotency_conflict',
    'invalid_json',
  ],
  x402: [
    'payment_required',
    'invalid_payment',
    'payment_conflict',
    'payment_in_progress',
    'payment_pending',
    'payment_unavailable',
  ],
} as const;
const errorsOfInput = ({ wrong }: OperationDocs): readonly ErrorCode[] =>
  wrong === null ? [] : ['invalid_parameter'];

const itemOf = (path: string, method: string): DescribedCall => {
  const item = document.paths[path]?.[method];
  if (item === undefined) throw new Error(`${method} ${path} is not in the document`);
  return item;
};

const allItems = (): DescribedCall[] =>
  [...Object.values(document.paths), ...Object.values(document.webhooks)].flatMap((methods) =>
    Object.values(methods),
  );

describe('the interface description', () => {
  it('is OpenAPI 3.1.0 in version 0.1.0.2, at our own address', () => {
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { version: '0.1.0.2' },
      servers: [{ url: gateway.url }],
    });
  });

  it('passes a public validator', async () => {
    expect(await new Validator().validate(JSON.parse(JSON.stringify(document)))).toEqual({ valid: true });
    const broken = { ...document, paths: { '/v1/search': { get: { responses: 'none' } } } };
    expect((await new Validator().validate(JSON.parse(JSON.stringify(broken)))).valid).toBe(false);
  });

  it('has every operation at its path and method', () => {
    for (const { name, rest } of operations)
      expect(itemOf(rest.path, rest.method.toLowerCase())).toMatchObject({ operationId: name });
  });

  it('tells crawlers which call is paid with x402, and what it costs at most', () => {
    const paid = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.values(methods).flatMap((item) =>
        'x-payment-info' in item ? [[path, item['x-payment-info']]] : [],
      ),
    );
    const price = { mode: 'dynamic', currency: 'USD', min: '0.10', max: '0.16' };
    expect(paid).toEqual([['/v1/search', { protocols: ['x402'], price }]]);
  });

  it('documents every error code of an operation under its status, with an example', () => {
    for (const { rest, sale, docs } of operations)
      for (const code of [
        ...rest.errors,
        ...errorsOfAll,
        ...errorsBySale[
          sale.kind === 'open'
            ? 'open'
            : sale.kind === 'free'
              ? 'none'
              : rulesOf(sale).isPrepaid
                ? 'hold'
                : 'x402'
        ],
        ...errorsOfInput(docs),
      ]) {
        const answer = itemOf(rest.path, rest.method.toLowerCase()).responses[String(errorTable[code][0])];
        expect(Object.keys(answer?.content?.['application/json']?.examples ?? {})).toContain(code);
      }
  });

  it('has no refusal of a field where there is none', () => {
    for (const path of ['/v1/balance', '/v1/models'])
      expect(Object.keys(itemOf(path, 'get').responses)).not.toContain('422');
  });

  it('speaks of calls, not of tools', () => {
    const { paths, webhooks, components } = document;
    const texts = JSON.stringify({ paths, webhooks, schemas: components.schemas });
    expect(texts).not.toContain('wait_ms');
    const described = [...texts.matchAll(/"description":"((?:[^"\\\\]|\\\\.)*)"/g)].map(
      ([, text = '']) => text,
    );
    expect(described.length).toBeGreaterThan(100);
    for (const { name } of operations)
      expect(described.filter((text) => new RegExp(String.raw`\b${name}\b`).test(text))).toEqual([]);
    expect(itemOf('/v1/images/generations', 'post').description).toContain('`GET /v1/jobs/{job_id}`');
  });

  it('says which operations have no tool', () => {
    const withoutTool = operations.filter(({ tool }) => tool === null).map(({ name }) => `\`${name}\``);
    expect(document.info.description).toContain(
      `but for ${withoutTool.join(', ')}, \`get_result\`, and \`get_film\`.`,
    );
  });

  it('names the headers of a retry, of an id, of a replay and of a payment where they come', () => {
    const headers = (path: string, method: string, status: number) =>
      Object.keys(itemOf(path, method).responses[String(status)]?.headers ?? {});
    expect(headers('/v1/chat/completions', 'post', 408)).toEqual(
      expect.arrayContaining(['X-Request-Id', 'X-Chat-Completion-Id', 'X-Should-Retry']),
    );
    expect(headers('/v1/chat/completions', 'post', 200)).toContain('Idempotent-Replayed');
    expect(headers('/v1/images/generations', 'post', 503)).toContain('Retry-After');
    expect(headers('/v1/search', 'get', 402)).toContain('PAYMENT-REQUIRED');
    expect(headers('/v1/search', 'get', 200)).toContain('PAYMENT-RESPONSE');
    expect(headers('/v1/search', 'get', 503)).toContain('X-Payment-Transaction');
    for (const { name, rest, docs } of operations.filter(({ sale }) => isSold(sale)))
      expect([name, headers(rest.path, rest.method.toLowerCase(), docs.examples.at(-1)!.status)]).toEqual([
        name,
        expect.arrayContaining(['X-Causeway-Sandbox', 'Idempotent-Replayed']),
      ]);
  });

  it('takes an Idempotency-Key of 1 to 255 characters wherever something is created', () => {
    for (const { sale, rest } of operations) {
      const item = itemOf(rest.path, rest.method.toLowerCase());
      const key = item.parameters.find(({ name }) => name === 'Idempotency-Key');
      expect(key?.schema).toEqual(
        rulesOf(sale).isPrepaid ? { type: 'string', minLength: 1, maxLength: 255 } : undefined,
      );
    }
  });

  it('describes streams with a real one', () => {
    for (const { rest } of operations.filter(({ docs }) => docs.stream !== undefined)) {
      const stream = itemOf(rest.path, 'post').responses['200']?.content?.['text/event-stream'];
      expect(String(stream?.examples?.['stream']?.value)).toMatch(/^(?:data|event): /);
    }
  });

  it('has the callback of image jobs and the addresses of results', () => {
    const callback = document.webhooks['image_job_ended']?.['post'];
    expect(callback?.parameters.map(({ name }) => name)).toEqual([
      'X-Causeway-Signature',
      'webhook-id',
      'webhook-timestamp',
      'webhook-signature',
    ]);
    expect(Object.keys(itemOf('/results/{name}', 'get').responses)).toEqual(
      expect.arrayContaining(['200', '206', '304', '404', '410', '416']),
    );
  });

  it('shows the largest limit as configured, and the gateway keeps to it', async () => {
    const limit = itemOf('/v1/search', 'get').parameters.find(({ name }) => name === 'limit');
    expect(limit?.schema.maximum).toBe(50);
    expect((await gateway.call('/v1/search?limit=51', { apiKey: null })).status).toBe(422);
  });

  it("describes the PAYMENT-REQUIRED header from x402's own schema", () => {
    expect(document.components.schemas['PaymentRequiredHeader']).toMatchObject({
      type: 'object',
      required: expect.arrayContaining(['x402Version', 'resource', 'accepts']),
    });
  });

  it('resolves every reference that it makes', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)];
    expect(references.length).toBeGreaterThan(0);
    for (const [, reference = ''] of references) {
      expect(reference).toMatch(/^#\/components\//);
      expect(document).toHaveProperty(reference.slice(2).split('/'));
    }
  });

  it('is made once', async () => {
    const [first, second] = await Promise.all([gateway.call('/openapi.json'), gateway.call('/openapi.json')]);
    expect(await first.text()).toBe(await second.text());
  });
});

/** What the contract's document lists for each call, beyond 200 and 202. */
const documentedRefusals: [path: string, method: string, statuses: number[]][] = [
  ['/v1/balance', 'get', [401, 429, 500]],
  ['/v1/usage', 'get', [400, 401, 422, 429, 500]],
  ['/v1/jobs', 'get', [400, 401, 422, 429, 500]],
  ['/v1/transactions', 'get', [400, 401, 422, 429, 500]],
  ['/v1/jobs/{job_id}', 'get', [401, 404, 429, 500]],
  ['/v1/models', 'get', [401, 429, 500]],
  ['/v1/chat/completions', 'post', [400, 401, 402, 408, 409, 422, 429, 500, 502, 503]],
  ['/v1/responses', 'post', [400, 401, 402, 408, 409, 422, 429, 500, 502, 503]],
  ['/v1/responses/{response_id}', 'get', [401, 404, 422, 429, 500]],
  ['/v1/images/generations', 'post', [400, 401, 402, 409, 422, 429, 500, 503]],
  ['/v1/videos', 'post', [400, 401, 402, 404, 409, 422, 429, 500, 503]],
  ['/v1/videos/{video_id}', 'get', [400, 401, 402, 404, 409, 422, 429, 500, 503]],
  ['/v1/videos/{video_id}/content', 'get', [401, 404, 409, 410, 416, 500, 502, 503]],
  ['/v1/search', 'get', [402, 422, 429, 500, 502]],
];

const bodyFields = (path: string, method = 'post'): Record<string, Schema> => {
  const schema = itemOf(path, method).requestBody?.content['application/json']?.schema;
  return resolveSchema(document, schema ?? {}).properties ?? {};
};

/** A schema without its choice of null. */
const valueOf = (schema: Schema | undefined): Schema => {
  const { anyOf, ...rest } = schema ?? {};
  return { ...anyOf?.find(({ type }) => type !== 'null'), ...rest };
};

describe('the contract in the description', () => {
  it.each(documentedRefusals)('%s %s has every status that it lists', (path, method, statuses) => {
    expect(Object.keys(itemOf(path, method).responses)).toEqual(
      expect.arrayContaining(statuses.map((status) => String(status))),
    );
  });

  it('has the limits and defaults of parameters', () => {
    const queryOf = (path: string, name: string) =>
      valueOf(itemOf(path, 'get').parameters.find((parameter) => parameter.name === name)?.schema);
    for (const path of ['/v1/jobs', '/v1/transactions']) {
      expect(queryOf(path, 'limit')).toMatchObject({
        type: 'integer',
        minimum: 1,
        maximum: 100,
        default: 50,
      });
      expect(queryOf(path, 'cursor')).toMatchObject({ type: 'string', minLength: 1, maxLength: 512 });
    }
    expect(queryOf('/v1/search', 'limit')).toMatchObject({ minimum: 1, default: 20 });
    expect(queryOf('/v1/search', 'min_followers')).toMatchObject({ minimum: 0, maximum: 1_000_000_000 });
    expect(queryOf('/v1/videos/{video_id}/content', 'variant')).toMatchObject({
      enum: ['video', 'last_frame'],
      default: 'video',
    });
    const isAsync = itemOf('/v1/images/generations', 'post').parameters.find(({ name }) => name === 'async');
    expect(isAsync).toMatchObject({ in: 'query', schema: { type: 'boolean', default: false } });
  });

  it('has the limits of bodies', () => {
    const image = bodyFields('/v1/images/generations');
    expect(image['model']).toMatchObject({ minLength: 1, maxLength: 128 });
    expect(image['prompt']).toMatchObject({ minLength: 1, maxLength: 262_144 });
    expect(valueOf(image['aspect_ratio']).enum).toHaveLength(11);
    const chat = bodyFields('/v1/chat/completions');
    expect(chat['messages']).toMatchObject({ type: 'array', minItems: 1 });
    for (const name of ['max_tokens', 'max_completion_tokens'])
      expect(valueOf(chat[name])).toMatchObject({ type: 'integer', maximum: 65_536 });
    expect(valueOf(bodyFields('/v1/responses')['max_output_tokens'])).toMatchObject({ maximum: 65_536 });
    expect(valueOf(bodyFields('/v1/videos')['resolution']).enum).toEqual(['480p', '720p', '1080p', '4k']);
  });

  it('says of every parameter and every field of a request what it means', () => {
    const silent = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { operationId, parameters, requestBody }]) => [
        ...parameters.filter(({ description }) => description === undefined),
        ...(requestBody === undefined ? [] : Object.entries(bodyFields(path, method)))
          .filter(([, { description }]) => description === undefined)
          .map(([name]) => ({ operationId, name })),
      ]),
    );
    expect(silent).toEqual([]);
  });

  it('names every field that the contract gives a request', () => {
    const fields: [string, string][] = [
      ['/v1/images/generations', 'model prompt response_format image webhook_url custom_data'],
      [
        '/v1/chat/completions',
        'model messages stream conversation_id n max_tokens max_completion_tokens tools tool_choice temperature top_p ' +
          'presence_penalty frequency_penalty stop logit_bias seed top_logprobs best_of candidate_count ' +
          'num_return_sequences logprobs parallel_tool_calls store response_format stream_options metadata moderation ' +
          'prediction audio web_search_options prompt_cache_options extra_body reasoning_effort service_tier verbosity ' +
          'prompt_cache_retention user safety_identifier prompt_cache_key function_call functions modalities',
      ],
      [
        '/v1/responses',
        'input instructions tools tool_choice parallel_tool_calls text temperature top_p max_output_tokens metadata ' +
          'stream user safety_identifier prompt_cache_key service_tier stream_options include reasoning truncation',
      ],
      [
        '/v1/videos',
        'model content image_url last_frame_image_url reference_image_urls seed duration resolution ratio aspect_ratio ' +
          'generate_audio nsfw_check return_last_frame output_format',
      ],
    ];
    for (const [path, names] of fields)
      expect(names.split(' ').filter((name) => bodyFields(path)[name] === undefined)).toEqual([]);
  });
});

describe('/docs', () => {
  let page: string;
  let headers: Headers;

  beforeAll(async () => {
    const answer = await gateway.call('/docs', { apiKey: null });
    headers = answer.headers;
    page = await answer.text();
  });

  it('runs its own script alone, and asks nobody else for anything', async () => {
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; img-src 'self'; style-src 'self';/,
    );
    const [, script = ''] = /<script>([^]*?)<\/script>/.exec(page) ?? [];
    const hash = createHash('sha256').update(script).digest('base64');
    expect(headers.get('content-security-policy')).toMatch(/; script-src 'sha256-[^ ;]*'$/);
    expect(headers.get('content-security-policy')).toContain(hash);
    expect(page.replace('<script>', '')).not.toMatch(/<script|\son\w+=|<img|<iframe|style="/i);
    const addresses = [...page.matchAll(/(?:href|src)="([^"#]*)/g)].map(([, address]) => address);
    expect(new Set(addresses)).toEqual(new Set(['', 'docs/style.css', 'favicon.svg', 'openapi.json']));
    const style = await gateway.call('/docs/style.css', { apiKey: null });
    expect([style.status, style.headers.get('content-type')]).toEqual([200, 'text/css; charset=utf-8']);
    expect(await style.text()).not.toMatch(/url\(|@import/);
  });

  it('has a place for every operation and schema, and no link into the void', () => {
    const places = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, place]) => place));
    for (const { operationId } of allItems()) expect(places).toContain(operationId);
    for (const name of Object.keys(document.components.schemas)) expect(places).toContain(`schema-${name}`);
    for (const [, target] of page.matchAll(/href="#([^"]+)"/g)) expect(places).toContain(target);
  });

  it('shows the members of each request with their limits', () => {
    const [, body = ''] = page.split('id="create_image"');
    const shown = body.slice(0, body.indexOf('With curl'));
    expect(shown).toMatch(/>prompt<[^]*1 to 262,144 characters/);
    expect(shown).toMatch(/>Idempotency-Key<[^]*1 to 255 characters/);
  });
});
