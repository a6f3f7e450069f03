import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { credit } from '../../src/accounts/ledger/entries.ts';
import { parseUsd } from '../../src/kit/money.ts';
import { openAccount } from '../mcp/open-account.ts';
import { connectAssistant, tool } from './account-calls.ts';
import { type CallOptions, type TestGateway } from './start-test-gateway.ts';
import { envelope, startUnlimitedGateway } from './refused-calls.ts';

let gateway: TestGateway;
let noMoneyMoved: () => Promise<void>;

beforeAll(async () => {
  ({ gateway, noMoneyMoved } = await startUnlimitedGateway());
});

afterAll(() => gateway.stop());

describe('the taxonomy of refusals', () => {
  const chat = (content: string, extra: object = {}) => ({
    messages: [{ role: 'user', content }],
    ...extra,
  });
  const image = (prompt: string) => ({ model: 'imagemodel-1.0', prompt });
  const answerOf = async (response: Response): Promise<object> => {
    const { error } = (await response.json()) as { error: { type: string; code: string } };
    return {
      status: response.status,
      type: error.type,
      code: error.code,
      retries: Number(response.headers.get('retry-after')) > 0,
    };
  };

  it('has NoFunds as 402 insufficient_balance for everything that is bought', async () => {
    const { apiKey } = await openAccount(gateway.services, { amount: 0n });
    const response = { model: 'textmodel-3.5-flash', input: 'x', max_output_tokens: 9 };
    const video = { model: 'videomodel-2.0', prompt: 'x' };
    for (const [path, body] of [
      ['/v1/images/generations', image('x')],
      ['/v1/images/generations?async=true', image('x')],
      ['/v1/chat/completions', chat('x')],
      ['/v1/chat/completions', chat('x', { max_tokens: 9, stream: true })],
      ['/v1/responses', response],
      ['/v1/videos', video],
    ] as const)
      expect([path, await answerOf(await gateway.call(path, { apiKey, body }))]).toEqual([
        path,
        { status: 402, type: 'insufficient_quota', code: 'insufficient_balance', retries: false },
      ]);
  });

  it('says in a 402 what is needed and what there is, over REST and over MCP', async () => {
    const { services } = gateway;
    for (const [path, name, body] of [
      ['/v1/images/generations', 'create_image', image('x')],
      ['/v1/chat/completions', 'create_chat_completion', chat('x', { max_tokens: 1_000 })],
      ['/v1/chat/completions', 'create_chat_completion', chat('x'.repeat(9_000))],
      ['/v1/responses', 'create_response', { input: 'x', max_output_tokens: 1_000 }],
      ['/v1/videos', 'create_video', { model: 'videomodel-2.0', prompt: 'x' }],
    ] as const) {
      const { apiKey, accountId } = await openAccount(services, { amount: 1_000_000n });
      const assistant = await connectAssistant(gateway, apiKey);
      onTestFinished(() => assistant.close());
      const overRest = await (await gateway.call(path, { apiKey, body })).json();
      const { error } = overRest as { error: { message: string } };
      const said = /^The request needs \$(\S+) of balance and the account has \$0\.001 available\. Top up/;
      expect(error.message).toMatch(said);
      const page = String.raw`http://\S+/oauth/calls/\S+`;
      expect(await tool(assistant, name, body)).toMatchObject({
        error: {
          message: expect.stringMatching(
            `^${RegExp.escape(error.message)} Ask the person to open ${page} and, when they are done, call again`,
          ),
        },
      });
      // With that much, and not a nano-dollar less, the request is taken.
      const missing = parseUsd(said.exec(error.message)?.[1] ?? '') - 1_000_000n;
      await credit(services, { accountId, amount: missing - 1n, reason: 'almost enough' });
      expect((await gateway.call(path, { apiKey, body })).status).toBe(402);
      await credit(services, { accountId, amount: 1n, reason: 'enough' });
      expect((await gateway.call(path, { apiKey, body })).ok).toBe(true);
    }
  });

  it('has InvalidPrompt as 400 of a text model and as the error of a failed image', async () => {
    expect(
      await answerOf(await gateway.call('/v1/chat/completions', { body: chat('[sandbox:moderated]') })),
    ).toEqual({
      status: 400,
      type: 'invalid_request_error',
      code: 'content_policy_violation',
      retries: false,
    });
    const failed = await gateway.call('/v1/images/generations', { body: image('[sandbox:moderated]') });
    expect([failed.status, await failed.json()]).toMatchObject([
      200,
      { status: 'failed', data: [], error: { code: 'content_policy_violation' } },
    ]);
    await noMoneyMoved();
  });

  it('has UpstreamDown as 502 upstream_error', async () => {
    expect(
      await answerOf(await gateway.call('/v1/chat/completions', { body: chat('[sandbox:fail]') })),
    ).toEqual({ status: 502, type: 'server_error', code: 'upstream_error', retries: false });
    await noMoneyMoved();
  });

  it('has RateLimited as 429 of too many calls, of too many videos and of an upstream', async () => {
    const { apiKey, accountId } = await openAccount(gateway.services);
    const video = { model: 'videomodel-2.0', prompt: '[sandbox:slow=60]', resolution: '480p' };
    await gateway.services.store.setAccountTerms({ id: accountId, terms: '{"active_videos":1}' });
    expect((await gateway.call('/v1/videos', { apiKey, body: video })).status).toBe(202);
    const refused = { status: 429, type: 'rate_limit_exceeded', retries: true };
    expect(await answerOf(await gateway.call('/v1/videos', { apiKey, body: video }))).toEqual({
      ...refused,
      code: 'too_many_active_jobs',
    });
    expect(
      await answerOf(
        await gateway.call('/v1/chat/completions', { apiKey, body: chat('[sandbox:rate_limit]') }),
      ),
    ).toEqual({ ...refused, code: 'rate_limit_exceeded' });
    await gateway.services.store.setAccountTerms({ id: accountId, terms: '{"requests_per_minute":3}' });
    expect(await answerOf(await gateway.call('/v1/balance', { apiKey }))).toEqual({
      ...refused,
      code: 'rate_limit_exceeded',
    });
  });
});

describe('every answer', () => {
  it('carries a request id of its own', async () => {
    const made = await gateway.call('/v1/models');
    const ids = new Set<string | null>([made.headers.get('x-request-id')]);
    const requests: [string, CallOptions][] = [
      ['/', {}],
      ['/health/live', {}],
      ['/health/ready', {}],
      ['/openapi.json', {}],
      ['/docs', {}],
      ['/v1/search?limit=1', { apiKey: null }],
      ['/v1/search?limit=0', { apiKey: null }],
      ['/v1/chat/completions', { body: { messages: [], stream: true } }],
      ['/v1/models', { method: 'HEAD' }],
      ['/v1/models', { method: 'OPTIONS' }],
      ['/mcp', { method: 'GET' }],
      ['/mcp', { body: {} }],
      ['/mcp', { body: {}, apiKey: 'sk_causeway_wrong' }],
    ];
    for (const [path, options] of requests) {
      const response = await gateway.call(path, options);
      await response.text();
      expect([path, response.headers.get('x-request-id')]).toEqual([path, expect.stringMatching(/^req_/)]);
      ids.add(response.headers.get('x-request-id'));
    }
    expect(ids.size).toBe(requests.length + 1);
  });
});

describe('arbitrary JSON', () => {
  it.each(['/v1/chat/completions', '/v1/images/generations'])(
    'as the body of %s is never a fault and never a charge',
    async (path) => {
      await fc.assert(
        fc.asyncProperty(fc.json({ maxDepth: 3 }), async (body) => {
          const response = await gateway.call(path, { body });
          expect(response.status).toBeGreaterThanOrEqual(400);
          expect(response.status).toBeLessThan(500);
          expect(await response.json()).toMatchObject(envelope);
        }),
        { numRuns: 60 },
      );
      await noMoneyMoved();
    },
  );

  it('as search parameters is 402 or 422 and never a fault', async () => {
    const parameter = fc.constantFrom(
      'query',
      'country',
      'category',
      'gender',
      'min_followers',
      'max_followers',
      'limit',
    );
    await fc.assert(
      fc.asyncProperty(fc.dictionary(parameter, fc.string({ unit: 'binary' })), async (parameters) => {
        const query = new URLSearchParams(parameters).toString();
        const response = await gateway.call(`/v1/search?${query}`, { apiKey: null });
        expect([402, 422]).toContain(response.status);
        await response.text();
      }),
      { numRuns: 100 },
    );
  });
});
