import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAccount } from '../mcp/open-account.ts';
import { image } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ environment: { REQUESTS_PER_MINUTE: '4' } });
});
afterAll(() => gateway.stop());

const chat = { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20 };

const left = ({ headers }: Response) => ({
  limit: headers.get('x-ratelimit-limit-requests'),
  remaining: headers.get('x-ratelimit-remaining-requests'),
  reset: headers.get('x-ratelimit-reset-requests'),
});
const seconds = expect.stringMatching(/^(?:[1-5]?\d|60)s$/);

describe('the limit of an account', () => {
  it('is told with each answer, also a stream, a refused call and a 429', async () => {
    const { apiKey } = await openAccount(gateway.services);
    const calls = [
      { path: '/v1/balance' },
      { path: '/v1/chat/completions', body: { ...chat, stream: true } },
      { path: '/v1/images/generations', body: { ...image, prompt: '' } },
      { path: '/v1/jobs/00000000-0000-4000-8000-000000000000' },
      { path: '/v1/balance' },
    ];
    const seen = [];
    for (const { path, body } of calls) {
      const response = await gateway.call(path, { apiKey, body });
      await response.text();
      seen.push([response.status, left(response)]);
    }
    expect(seen).toEqual([
      [200, { limit: '4', remaining: '3', reset: seconds }],
      [200, { limit: '4', remaining: '2', reset: seconds }],
      [422, { limit: '4', remaining: '1', reset: seconds }],
      [404, { limit: '4', remaining: '0', reset: seconds }],
      [429, { limit: '4', remaining: '0', reset: seconds }],
    ]);
  });

  it('is not told where nothing was counted', async () => {
    const response = await gateway.call('/v1/balance', { apiKey: null });
    expect([response.status, left(response)]).toEqual([401, { limit: null, remaining: null, reset: null }]);
  });

  it('of an address is told to a caller without a key', async () => {
    const response = await gateway.call('/v1/search?query=yoga', { apiKey: null });
    expect([response.status, left(response)]).toEqual([
      402,
      { limit: '60', remaining: '59', reset: seconds },
    ]);
  });
});
