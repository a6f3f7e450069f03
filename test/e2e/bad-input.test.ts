import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAccount } from '../mcp/open-account.ts';
import { sendExactly } from './send-exactly.ts';
import { type TestGateway } from './start-test-gateway.ts';
import { envelope, startUnlimitedGateway } from './refused-calls.ts';

let gateway: TestGateway;
let noMoneyMoved: () => Promise<void>;

beforeAll(async () => {
  ({ gateway, noMoneyMoved } = await startUnlimitedGateway());
});

afterAll(() => gateway.stop());

describe('a request that cannot be served', () => {
  it.each<[string, string, object, number, string]>([
    ['GET', '/v1/nothing', {}, 404, 'not_found'],
    ['GET', '/%', {}, 404, 'not_found'],
    ['GET', '/v1/models/', {}, 404, 'not_found'],
    ['GET', '/v1/search%2F', {}, 404, 'not_found'],
    ['GET', '/v1/search/', {}, 404, 'not_found'],
    ['GET', '/results/../../etc/passwd', {}, 404, 'not_found'],
    ['GET', '/results/%2e%2e%2fcauseway.db', {}, 404, 'not_found'],
    ['GET', `/results/${'a'.repeat(43)}.png`, {}, 404, 'not_found'],
    ['DELETE', '/v1/models', {}, 405, 'method_not_allowed'],
    ['GET', '/v1/chat/completions', {}, 405, 'method_not_allowed'],
    ['POST', '/v1/chat/completions', { body: '{"messages":' }, 400, 'invalid_json'],
    ['POST', '/v1/chat/completions', { body: '' }, 400, 'invalid_json'],
    ['POST', '/v1/chat/completions', { body: `"${'x'.repeat(200_000)}"` }, 413, 'payload_too_large'],
    [
      'POST',
      '/v1/chat/completions',
      { body: '{}', headers: { 'content-encoding': 'gzip' } },
      415,
      'unsupported_media_type',
    ],
    ['POST', '/v1/images/generations', { body: { model: 'nope', prompt: 'x' } }, 400, 'model_not_found'],
    [
      'POST',
      '/v1/images/generations',
      { body: { model: 'textmodel-3.5-flash', prompt: 'x' } },
      400,
      'model_not_found',
    ],
    [
      'POST',
      '/v1/images/generations',
      { body: { model: 'imagemodel-1.0', prompt: '' } },
      422,
      'invalid_parameter',
    ],
    [
      'POST',
      '/v1/images/generations',
      { body: { model: 'imagemodel-1.0', prompt: 'x', response_format: 'b64_json' } },
      422,
      'unsupported_response_format',
    ],
    [
      'POST',
      '/v1/images/generations',
      { body: { model: 'imagemodel-1.0', prompt: 'x', webhook_url: 'https://example.com' } },
      422,
      'invalid_parameter',
    ],
    [
      'POST',
      '/v1/images/generations?async=true',
      { body: { model: 'imagemodel-1.0', prompt: 'x', webhook_url: 'https://example.com' } },
      503,
      'webhook_temporarily_unavailable',
    ],
    [
      'POST',
      '/v1/images/generations',
      { body: { model: 'imagemodel-1.0', prompt: 'x', custom_data: { big: 'y'.repeat(5000) } } },
      422,
      'invalid_parameter',
    ],
    [
      'POST',
      '/v1/images/generations',
      { body: { model: 'imagemodel-1.0', prompt: 'x' }, headers: { 'idempotency-key': 'k'.repeat(256) } },
      422,
      'invalid_parameter',
    ],
    [
      'POST',
      '/v1/images/generations',
      { body: { model: 'imagemodel-1.0', prompt: 'x', image: 'http://example.com/x.png' } },
      422,
      'invalid_parameter',
    ],
    ['POST', '/v1/responses', { body: { model: 'nope', input: 'x' } }, 400, 'model_not_found'],
    [
      'POST',
      '/v1/responses',
      { body: { model: 'textmodel-3.5-flash', input: 'x', background: true } },
      400,
      'unknown_parameter',
    ],
    ['GET', '/v1/responses/resp_x', {}, 422, 'invalid_parameter'],
    ['POST', '/v1/videos', { body: { model: 'nope', prompt: 'x' } }, 400, 'model_not_found'],
    ['POST', '/v1/videos', { body: { model: 'videomodel-2.0' } }, 422, 'invalid_parameter'],
    [
      'POST',
      '/v1/videos',
      { body: { model: 'videomodel-2.5', prompt: 'x', duration: 31 } },
      422,
      'invalid_parameter',
    ],
    ['GET', '/v1/videos/not-a-uuid', {}, 404, 'video_not_found'],
    ['GET', '/v1/videos/not-a-uuid/content', {}, 404, 'video_not_found'],
    ['GET', '/v1/videos/x/content?variant=all', {}, 422, 'invalid_parameter'],
    ['GET', '/v1/jobs?limit=101', {}, 422, 'invalid_parameter'],
    ['GET', '/v1/jobs?cursor=x', {}, 400, 'invalid_cursor'],
    ['GET', '/v1/usage?from=2100-01-01', {}, 400, 'invalid_range'],
    ['GET', '/v1/models/nope', {}, 404, 'not_found'],
    ['GET', '/v1/jobs/not-a-uuid', {}, 404, 'job_not_found'],
    ['GET', '/v1/jobs/00000000-0000-4000-8000-000000000000', {}, 404, 'job_not_found'],
    ['GET', '/v1/balance', { apiKey: null }, 401, 'invalid_api_key'],
    ['GET', '/v1/balance', { apiKey: 'sk_causeway_wrong' }, 401, 'invalid_api_key'],
    ['POST', '/v1/chat/completions', { apiKey: null, body: '{' }, 401, 'invalid_api_key'],
  ])('%s %s %j answers %i %s', async (method, path, options, status, code) => {
    const response = await gateway.call(path, { method, ...options });
    expect(response.status).toBe(status);
    expect(response.headers.get('x-request-id')).toMatch(/^req_/);
    const body = await response.json();
    expect(body).toMatchObject(envelope);
    expect(body).toMatchObject({ error: { code } });
    if (status === 503) expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    await noMoneyMoved();
  });

  it('is refused in good time when it has far too many values or levels', async () => {
    const many = { messages: Array.from({ length: 45_000 }, () => 0), metadata: { a: [] } };
    const deep = `{"metadata":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
    const wide = `{"messages":[${'1,'.repeat(49_000)}1,[1,1]]}`;
    expect((await gateway.call('/v1/chat/completions', { body: many })).status).toBe(422);
    expect((await gateway.call('/v1/chat/completions', { body: deep })).status).toBe(413);
    expect((await gateway.call('/v1/images/generations', { body: wide })).status).toBe(422);
  });

  it.each(['/v1/chat/completions', '/v1/videos', '/mcp'])(
    'is refused before it is parsed when it has far too many values: %s',
    async (path) => {
      const response = await gateway.call(path, { body: `{"id":[${','.repeat(70_000)}` });
      expect(response.status).toBe(413);
      const message = 'The request has more than 50000 values. Send less.';
      expect(await response.json()).toMatchObject({ error: { code: 'payload_too_large', message } });
    },
  );

  it('names every wrong chat field, for both kinds of client', async () => {
    const body = { messages: [], max_tokens: 70_000, n: 2, webhook_url: 'https://example.com' };
    const response = await gateway.call('/v1/chat/completions', { body });
    expect(response.status).toBe(422);
    const answer = (await response.json()) as { detail: { loc: string[] }[]; error: { param: string } };
    expect(answer.detail.map(({ loc }) => loc.join('.'))).toEqual(
      expect.arrayContaining(['body.messages', 'body.max_tokens', 'body.n', 'body.webhook_url']),
    );
    expect(answer).toMatchObject(envelope);
  });

  it('names every wrong search parameter in detail, and nobody is asked to pay for it', async () => {
    const response = await gateway.call('/v1/search?limit=500&gender=x&country=USA&min_followers=-1', {
      apiKey: null,
    });
    expect(response.status).toBe(422);
    const { detail, ...rest } = (await response.json()) as {
      detail: { loc: string[]; msg: string; type: string }[];
    };
    expect(rest).toEqual({});
    expect(detail.map(({ loc }) => loc)).toEqual(
      expect.arrayContaining([
        ['query', 'limit'],
        ['query', 'gender'],
        ['query', 'country'],
        ['query', 'min_followers'],
      ]),
    );
    for (const { msg, type } of detail) expect([typeof msg, typeof type]).toEqual(['string', 'string']);
  });

  it.each([
    'min_followers=5&max_followers=4',
    'query=%F0%9F%98%80',
    'limit=1e1',
    'max_followers=9007199254740992',
    'limit=1&limit=2',
    'limit=0',
  ])('refuses the search %s with 422', async (query) => {
    expect((await gateway.call(`/v1/search?${query}`, { apiKey: null })).status).toBe(422);
  });

  it.each(['max_followers=9007199254740991', 'limit=', 'query=&country=&category=&gender=&min_followers='])(
    'takes the search %s',
    async (query) => {
      expect((await gateway.call(`/v1/search?${query}`, { apiKey: null })).status).toBe(402);
    },
  );

  it.each([
    ['qurey=coffee', 'qurey', 'query'],
    ['Query=coffee', 'Query', 'query'],
    ['Limit=100', 'Limit', 'limit'],
    ['limits=100', 'limits', 'limit'],
    ['contry=US', 'contry', 'country'],
    ['minFollowers=10', 'minFollowers', 'min_followers'],
    ['query=x&max-followers=10', 'max-followers', 'max_followers'],
    ['catgeory=Food', 'catgeory', 'category'],
    ['gander=male', 'gander', 'gender'],
  ])('refuses the slip %s, naming %s and %s', async (query, given, meant) => {
    const response = await gateway.call(`/v1/search?${query}`, { apiKey: null });
    expect(response.status).toBe(422);
    expect(await response.json()).toEqual({
      detail: [
        {
          loc: ['query', given],
          msg: `is not a field here; did you mean ${meant}?`,
          type: 'extra_forbidden',
        },
      ],
    });
  });

  it('names a slip beside what else is wrong', async () => {
    const response = await gateway.call('/v1/search?qurey=coffee&limit=500', { apiKey: null });
    const { detail } = (await response.json()) as { detail: { loc: string[] }[] };
    expect(detail.map(({ loc }) => loc[1])).toEqual(['qurey', 'limit']);
  });

  it.each([
    'page=2',
    'utm_source=x',
    'q=coffee',
    '__proto__=1',
    'constructor=1',
    '=1',
    'query=coffee&sort=up',
  ])('ignores what is unknown and like nothing known: %s', async (query) => {
    expect((await gateway.call(`/v1/search?${query}`, { apiKey: null })).status).toBe(402);
  });

  it.each([
    ['?Async=true', 422],
    ['?asinc=true', 422],
    ['?prompt=x', 422],
    ['?utm_source=x', 400],
  ])('takes no slip, and no field of the body, for a parameter of an image: %s', async (query, status) => {
    const body = { model: 'is-not-sold', prompt: 'A pier' };
    expect((await gateway.call(`/v1/images/generations${query}`, { body })).status).toBe(status);
  });

  it('survives bytes that are not HTTP', async () => {
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1', () =>
        socket.end('\x00\x01 nonsense\r\n\r\n'),
      );
      let text = '';
      socket.on('data', (data) => (text += data.toString('latin1')));
      socket.on('close', () => resolve(text));
      socket.on('error', reject);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 400/);
    expect((await gateway.call('/health/live')).status).toBe(200);
  });
});

describe('a path that is read otherwise than it is written', () => {
  it.each([
    '/admin\\v1/accounts',
    '/x\\..\\admin/v1/accounts',
    '/x/../admin/v1/accounts',
    '/x/%2E%2e/admin/v1/accounts',
    '/admin/v1/accounts/x/..',
    '/v1/./models',
    '/v1/models/x/..',
    '/v1/models\\..\\models?limit=1',
  ])('is nothing: %s', async (path) => {
    const { status, body } = await sendExactly(gateway.url, { method: 'GET', path });
    expect([status, JSON.parse(body)]).toMatchObject([404, { error: { code: 'not_found' } }]);
  });

  it.each(['/v1/models?a\\b/../c', '/v1/models#x', '/v1/models?', '/v1/models/%5C..%2f'])(
    'is not %s',
    async (path) => {
      const { status } = await sendExactly(gateway.url, { method: 'GET', path });
      expect(status).not.toBe(404);
    },
  );
});

describe('a known address outside /v1', () => {
  it.each<[string, string]>([
    ['/docs', 'GET, HEAD'],
    ['/docs/style.css', 'GET, HEAD'],
    ['/openapi.json', 'GET, HEAD'],
    ['/health/live', 'GET, HEAD'],
    ['/health/ready', 'GET, HEAD'],
    [`/results/${'a'.repeat(43)}.png`, 'GET, HEAD'],
    ['/.well-known/x402', 'GET, HEAD'],
    ['/.well-known/x402.json', 'GET, HEAD'],
    ['/.well-known/did.json', 'GET, HEAD'],
    ['/did.json', 'GET, HEAD'],
    ['/mcp', 'POST'],
    ['/mcp/search', 'POST'],
    ['/mcp/generation', 'POST'],
  ])('answers other methods at %s with 405 and Allow: %s', async (path, allow) => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      if (allow.includes(method)) continue;
      const response = await gateway.call(path, { method });
      expect([method, response.status, response.headers.get('allow')]).toEqual([method, 405, allow]);
      expect(response.headers.get('x-request-id')).toMatch(/^req_/);
      expect(await response.json()).toMatchObject({ error: { code: 'method_not_allowed' } });
    }
  });
});

describe('an address with a slash at its end', () => {
  it('is another one', async () => {
    const body = { model: 'imagemodel-1.0', prompt: 'x' };
    const { apiKey } = await openAccount(gateway.services);
    const made = await gateway.call('/v1/images/generations', { apiKey, body });
    const { data } = (await made.json()) as { data: { url: string }[] };
    const path = new URL(data[0]?.url ?? '').pathname;
    const statusOf = async (at: string): Promise<number> => (await gateway.call(at)).status;
    expect([await statusOf(path), await statusOf(`${path}/`)]).toEqual([200, 404]);
    for (const known of ['/docs', '/openapi.json', '/health/live', '/.well-known/x402'])
      expect([known, await statusOf(`${known}/`)]).toEqual([known, 404]);
  });
});
