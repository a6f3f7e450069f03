import { createHash } from 'node:crypto';
import { newId } from '../../src/kit/ids.ts';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { errorTable, type ErrorCode } from '../../src/kit/errors.ts';
import { imageEvent } from '../../src/operations/images/image-examples.ts';
import type { OperationDocs } from '../../src/operations/operation-docs.ts';
import { operations } from '../operations/test-operations.ts';
import {
  createAnswerCheck,
  createCompiler,
  resolveSchema,
  type CheckedAnswer,
  type Description,
  type DescribedCall,
  type Schema,
} from './interface-description.ts';
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
  ['/v1/videos', 'post', [400, 401, 402, 409, 422, 429, 500, 503]],
  ['/v1/videos/{video_id}', 'get', [401, 404, 422, 429, 500, 503]],
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

/** A connection of the first account. Returns its id. */
const addConnection = async ({ services: { store } }: TestGateway, parentId: string): Promise<string> => {
  const [account] = await store.listAccounts({ limit: 1 });
  const id = newId();
  await store.createConnection({
    id,
    accountId: account!.id,
    parentId,
    grantId: id,
    scopes: ['read'],
    servers: [],
    resource: '/mcp/account',
    client: { id: 'https://claude.ai/client.json', name: 'Claude', redirect: 'claude.ai' },
    label: 'claude.ai',
    limits: { budgetDay: 5_000_000_000n },
    askAbove: null,
    now: Date.now(),
  });
  return id;
};

describe('the schemas', () => {
  it('hold for the real answers of a gateway', async () => {
    const checkAnswer = createAnswerCheck(gateway, document);
    const templates = new Set<string>();
    const check: typeof checkAnswer = (template, options) => {
      templates.add(template);
      return checkAnswer(template, options);
    };
    const done: CheckedAnswer[] = [];
    for (const path of ['/v1/balance', '/v1/whoami', '/v1/usage', '/v1/models'])
      done.push(await check(path, { status: 200 }));
    done.push(await check('/v1/models/{model}', { path: '/v1/models/imagemodel-1.0', status: 200 }));

    const images = '/v1/images/generations';
    const drawing = { model: 'imagemodel-1.0', prompt: 'A pier.', custom_data: { order: 1 } };
    const queued = await check(images, { path: `${images}?async=true`, body: drawing, status: 202 });
    const drawn = await check(images, { body: drawing, status: 200 });
    done.push(await check(images, { body: { ...drawing, prompt: '[sandbox:moderated]' }, status: 200 }));

    const chats = '/v1/chat/completions';
    const chat = { messages: [{ role: 'user', content: 'Name one colour.' }] };
    const completion = await check(chats, { body: chat, status: 200 });
    const chunks = await check(chats, { body: { ...chat, stream: true }, status: 200 });
    const receipt = { path: `/v1/receipts/${drawn.id}`, status: 200 };
    done.push(await check('/v1/receipts/{receipt_id}', receipt));
    done.push(await check('/v1/statement', { status: 200 }));
    await check('/v1/statement', { path: '/v1/statement?format=csv', status: 200 });
    for (const { id } of [queued, drawn, completion])
      done.push(await check('/v1/jobs/{job_id}', { path: `/v1/jobs/${id}`, status: 200 }));

    const responses = '/v1/responses';
    const asked = { input: 'Name one colour.' };
    const response = await check(responses, { body: asked, status: 200 });
    const events = await check(responses, { body: { ...asked, stream: true }, status: 200 });
    done.push(await check('/v1/jobs/{job_id}', { path: `/v1/jobs/${response.id}`, status: 200 }));
    const path = `${responses}/${response.id}`;
    done.push(await check('/v1/responses/{response_id}', { path, status: 200 }));

    const film = { model: 'videomodel-2.0', prompt: '[sandbox:fail]', duration: 4, resolution: '480p' };
    const video = await check('/v1/videos', { body: film, status: 202 });
    done.push(await check('/v1/videos/{video_id}', { path: `/v1/videos/${video.id}`, status: 200 }));
    const limits = { budget_day_usd: '5', models: ['imagemodel-1.0'] };
    const key = await check('/v1/keys', { body: limits, status: 200 });
    const keyCall = { path: `/v1/keys/${key.id}`, status: 200 };
    for (const call of [{}, { body: { budget_day_usd: null } }, { method: 'DELETE' }])
      done.push(await check('/v1/keys/{key_id}', { ...keyCall, ...call }));
    done.push(await check('/v1/search/facets', { apiKey: null, status: 200 }));
    const connection = await addConnection(gateway, key.id);
    done.push(
      await check('/v1/connections/{connection_id}', {
        path: `/v1/connections/${connection}`,
        method: 'DELETE',
        status: 200,
      }),
    );
    const hook = { url: 'https://shop.example/hook' };
    const sent = await check('/v1/webhooks/test', { body: hook, status: 200 });
    const { event_id: eventId } = JSON.parse(sent.text) as { event_id: string };
    done.push(sent);
    const redelivery = '/v1/webhooks/deliveries/{event_id}/redeliver';
    const ofEvent = redelivery.replace('{event_id}', eventId);
    done.push(await check(redelivery, { path: ofEvent, method: 'POST', status: 200 }));
    done.push(await check('/v1/webhooks/secret/rotate', { method: 'POST', status: 200 }));
    const alert = { low_balance_usd: '5', url: 'https://shop.example/hook' };
    for (const call of [{}, { method: 'PUT', body: alert }])
      done.push(await check('/v1/alerts', { ...call, status: 200 }));
    for (const list of [
      '/v1/jobs',
      '/v1/transactions',
      '/v1/keys',
      '/v1/connections',
      '/v1/webhooks/deliveries',
    ])
      done.push(await check(list, { path: `${list}?limit=2`, status: 200 }));
    expect(new Set(done.map(({ name }) => name)).size).toBe(23);
    // A search is paid elsewhere, and bytes are looked at below.
    const others = ['/v1/search', '/v1/videos/{video_id}/content', '/results/{name}', '/films/{token}'];
    expect([...templates, ...others].toSorted()).toEqual(Object.keys(document.paths).toSorted());

    const compile = createCompiler(document);
    for (const [{ text }, name] of [
      [chunks, 'ChatCompletionChunk'],
      [events, 'ResponseStreamEvent'],
    ] as const) {
      const sent = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']): unknown => JSON.parse(data));
      expect(sent.length).toBeGreaterThan(3);
      const validate = compile({ $ref: `#/components/schemas/${name}` });
      expect(sent.flatMap((event) => (validate(event) ? [] : [event, validate.errors]))).toEqual([]);
    }
  });

  it('hold for what is answered as bytes, and for its refusals', async () => {
    const check = createAnswerCheck(gateway, document);
    const body = { model: 'videomodel-2.0', prompt: 'A pier.', duration: 4, resolution: '480p' };
    const { id } = await check('/v1/videos', { body, status: 202 });
    const content = '/v1/videos/{video_id}/content';
    await check(content, { path: `/v1/videos/${id}/content`, status: 409 });
    const film = await vi.waitFor(
      async () => {
        const { text } = await check('/v1/videos/{video_id}', { path: `/v1/videos/${id}`, status: 200 });
        expect(text).toContain('"status":"completed"');
        return (JSON.parse(text) as { film_url: string }).film_url;
      },
      { timeout: 60_000, interval: 100 },
    );
    const drawing = { model: 'imagemodel-1.0', prompt: 'A pier.' };
    const { text } = await check('/v1/images/generations', { body: drawing, status: 200 });
    const [{ url }] = (JSON.parse(text) as { data: [{ url: string }] }).data;
    for (const [template, path] of [
      [content, `/v1/videos/${id}/content`],
      ['/results/{name}', new URL(url).pathname],
      ['/films/{token}', new URL(film).pathname],
    ] as const) {
      const etag = (await gateway.call(path, { method: 'HEAD' })).headers.get('etag') ?? '';
      await check(template, { path, status: 200 });
      await check(template, { path, headers: { range: 'bytes=0-9' }, status: 206 });
      await check(template, { path, headers: { 'if-none-match': etag }, status: 304 });
      await check(template, { path, headers: { range: 'bytes=9-0' }, status: 416 });
    }
    await check('/results/{name}', { path: '/results/none.png', status: 404 });
    await check('/films/{token}', { path: '/films/none', status: 404 });
  });

  it('hold for the real refusals of a gateway', async () => {
    const check = createAnswerCheck(gateway, document);
    const done: CheckedAnswer[] = [];
    const refuse = async (...call: Parameters<typeof check>): Promise<void> => {
      done.push(await check(...call));
    };
    for (const path of [
      '/v1/balance',
      '/v1/whoami',
      '/v1/usage',
      '/v1/jobs',
      '/v1/transactions',
      '/v1/models',
    ])
      await refuse(path, { apiKey: null, status: 401 });
    const reads: [template: string, path: string, status: number][] = [
      ['/v1/usage', '/v1/usage?from=2026-02-01&to=2026-01-01', 400],
      ['/v1/usage', '/v1/usage?from=never', 422],
      ['/v1/jobs', '/v1/jobs?cursor=x', 400],
      ['/v1/jobs', '/v1/jobs?limit=0', 422],
      ['/v1/jobs/{job_id}', '/v1/jobs/none', 404],
      ['/v1/models/{model}', '/v1/models/none', 404],
      ['/v1/responses/{response_id}', '/v1/responses/resp_none', 422],
      ['/v1/responses/{response_id}', `/v1/responses/resp_${crypto.randomUUID()}`, 404],
      ['/v1/videos/{video_id}', '/v1/videos/none', 404],
      ['/v1/videos/{video_id}/content', '/v1/videos/none/content', 404],
      ['/v1/search', '/v1/search?limit=0', 422],
      ['/v1/keys', '/v1/keys?cursor=x', 400],
      ['/v1/keys/{key_id}', '/v1/keys/none', 404],
      ['/v1/connections', '/v1/connections?cursor=x', 400],
      ['/v1/receipts/{receipt_id}', '/v1/receipts/none', 404],
      ['/v1/statement', '/v1/statement?cursor=x', 400],
      ['/v1/statement', '/v1/statement?month=x', 422],
      ['/v1/webhooks/deliveries', '/v1/webhooks/deliveries?cursor=x', 400],
    ];
    for (const [template, path, status] of reads) await refuse(template, { path, status });
    const connection = '/v1/connections/{connection_id}';
    await refuse(connection, { path: '/v1/connections/none', method: 'DELETE', status: 404 });
    await refuse('/v1/webhooks/deliveries/{event_id}/redeliver', {
      path: '/v1/webhooks/deliveries/none/redeliver',
      method: 'POST',
      status: 404,
    });
    await refuse('/v1/webhooks/test', { body: { url: 'none' }, status: 422 });
    await refuse('/v1/alerts', { method: 'PUT', body: { url: 'none' }, status: 422 });
    await refuse('/v1/webhooks/secret/rotate', { method: 'POST', apiKey: 'wrong', status: 401 });

    const chats = '/v1/chat/completions';
    const creates: [path: string, body: object][] = [
      ['/v1/images/generations', { model: 'imagemodel-1.0', prompt: 'x' }],
      [chats, { messages: [{ role: 'user', content: '[sandbox:fail]' }] }],
      ['/v1/responses', { input: '[sandbox:fail]' }],
      ['/v1/videos', { model: 'videomodel-2.0', prompt: '[sandbox:fail]', duration: 4 }],
    ];
    for (const [path, body] of creates) {
      await refuse(path, { body: '{', status: 400 });
      await refuse(path, { body: { ...body, model: 'none' }, status: 400 });
      await refuse(path, { body: [], status: 422 });
      await refuse(path, { body, apiKey: 'wrong', status: 401 });
      await refuse(path, { body, headers: { 'content-encoding': 'gzip' }, status: 415 });
      const headers = { 'idempotency-key': 'one' };
      // A failure would free the key.
      const kept = JSON.parse(JSON.stringify(body).replace('[sandbox:fail]', '[sandbox:moderated]'));
      await gateway.call(path, { body: kept, headers });
      const other = { ...kept, seed: 7, temperature: 0.5, aspect_ratio: '1:1' };
      await refuse(path, { body: other, headers, status: 409 });
    }
    await refuse('/v1/responses', { body: { input: '[sandbox:fail]' }, status: 502 });
    for (const [word, status] of [
      ['fail', 502],
      ['moderated', 400],
      ['rate_limit', 429],
    ] as const)
      await refuse(chats, { body: { messages: [{ role: 'user', content: `[sandbox:${word}]` }] }, status });
    expect(new Set(done.map(({ name }) => name)).size).toBeGreaterThan(30);
    const refused = new Set(done.map(({ name }) => name.replace(/ \d+$/, '')));
    expect([...refused, '/results/{name}', '/films/{token}', '/v1/search/facets'].toSorted()).toEqual(
      Object.keys(document.paths).toSorted(),
    );
  });
});

describe('the examples', () => {
  it.each<[template: string, path: string, body?: object]>([
    ['/v1/search', '/v1/search?gender=x'],
    ['/v1/models/{model}', `/v1/models/${'x'.repeat(129)}`],
    ['/v1/usage', '/v1/usage?from=x'],
    ['/v1/keys', '/v1/keys', { budget_day_usd: '-5' }],
    ['/v1/keys/{key_id}', `/v1/keys/${'x'.repeat(129)}`],
    ['/v1/jobs', '/v1/jobs?limit=101'],
    ['/v1/transactions', '/v1/transactions?limit=101'],
    ['/v1/jobs/{job_id}', `/v1/jobs/${'x'.repeat(129)}`],
    ['/v1/chat/completions', '/v1/chat/completions', {}],
    ['/v1/responses', '/v1/responses', {}],
    ['/v1/responses/{response_id}', '/v1/responses/none'],
    ['/v1/images/generations', '/v1/images/generations', { model: 'imagemodel-1.0' }],
    ['/v1/videos', '/v1/videos', { model: 'videomodel-2.0', resolution: '8k' }],
    ['/v1/videos/{video_id}', `/v1/videos/${'x'.repeat(129)}`],
    ['/v1/videos/{video_id}/content', '/v1/videos/none/content?variant=x'],
  ])('of a wrong field of %s is what the gateway answers', async (template, path, body) => {
    const answer = await gateway.call(path, body === undefined ? {} : { body });
    const described = itemOf(template, body === undefined ? 'get' : 'post').responses['422'];
    const example = described?.content?.['application/json']?.examples?.['invalid_parameter'];
    expect([answer.status, await answer.json()]).toEqual([422, example?.value]);
  });

  it('of what is not there is what the gateway answers', async () => {
    const example = (template: string): unknown =>
      itemOf(template, 'get').responses['404']?.content?.['application/json']?.examples;
    for (const [template, path] of [
      ['/v1/models/{model}', '/v1/models/none'],
      ['/v1/jobs/{job_id}', '/v1/jobs/none'],
      ['/v1/responses/{response_id}', `/v1/responses/resp_${crypto.randomUUID()}`],
      ['/v1/videos/{video_id}', '/v1/videos/none'],
      ['/v1/videos/{video_id}/content', '/v1/videos/none/content'],
      ['/results/{name}', '/results/none.png'],
      ['/films/{token}', '/films/none'],
      ['/v1/keys/{key_id}', '/v1/keys/none'],
    ] as const) {
      const answer = (await (await gateway.call(path)).json()) as { error: { code: string } };
      expect([path, example(template)]).toEqual([path, { [answer.error.code]: { value: answer } }]);
    }
  });

  it('are there for every operation', () => {
    for (const { name, docs } of operations) expect([name, docs.examples.length]).not.toEqual([name, 0]);
  });

  it.each(operations.map((operation) => [operation.name, operation] as const))(
    'of %s are right by its schemas',
    (_name, { input, output, rest, docs }) => {
      for (const { parameters, body, answer, stream } of docs.examples) {
        expect(input.safeParse({ ...body, ...parameters }).error).toBeUndefined();
        if (answer === null) expect(stream !== undefined || rest.content !== undefined).toBe(true);
        else expect(output.safeParse(answer).error).toBeUndefined();
      }
    },
  );

  it('are right by the schemas of the document, requests, answers and refusals alike', () => {
    const compile = createCompiler(document);
    let checked = 0;
    for (const { operationId, requestBody, responses } of allItems())
      for (const content of [
        requestBody?.content,
        ...Object.values(responses).map((answer) => answer.content),
      ])
        for (const { schema, examples } of Object.values(content ?? {})) {
          if (schema === undefined) continue;
          const check = compile(schema);
          for (const [name, { value }] of Object.entries(examples ?? {})) {
            check(value);
            expect(check.errors, `${operationId}: ${name}`).toBeNull();
            checked += 1;
          }
        }
    expect(checked).toBeGreaterThan(50);
    expect(imageEvent.example['event_id']).not.toBe(imageEvent.example['id']);
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
    expect(new Set(addresses)).toEqual(new Set(['', '/docs/style.css', '/favicon.svg', '/openapi.json']));
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
