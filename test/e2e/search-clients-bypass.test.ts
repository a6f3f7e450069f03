import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeBase64Json } from '../../src/payments/chains/core/wire.ts';
import { sendExactly, type ExactAnswer, type ExactRequest } from './send-exactly.ts';
import { startPaidSearch, type PaidSearch } from './start-paid-search.ts';

let search: PaidSearch;

beforeAll(async () => {
  search = await startPaidSearch();
});

afterAll(() => search.stop());

const send = (request: ExactRequest): Promise<ExactAnswer> => sendExactly(search.gateway.url, request);

const isServed = ({ status, body }: ExactAnswer): boolean => status === 200 || body.includes('"results"');

describe('a way around the payment', () => {
  const paths = [
    '/v1/search/',
    '/v1/search//',
    '/v1//search',
    '//v1/search',
    '//localhost/v1/search',
    '/v1%2Fsearch',
    '/v1/search%2F',
    '/v1/%73earch',
    '/%76%31/search',
    '/v1/search%00',
    '/v1/search%20',
    '/v1/search%ff',
    '/v1/search;',
    '/v1/search;limit=5',
    '/v1/search.json',
    '/v1/search?',
    '/v1/search?#',
    '/v1/search?/',
    '/V1/SEARCH',
    '/v1/Search',
    '/v1/./search',
    '/v1/x/../search',
    '/v1/x/%2e%2e/search',
    '/v1/search/..%2fsearch',
    '/v1\\search',
    '/mcp/../v1/search',
    '/health/../v1/search',
    '/results/..%2f..%2fv1%2fsearch',
    '/v1/search?limit=5&limit=5',
    '/v1/search?limit[]=5',
    'http://localhost/v1/search',
    '*',
  ];
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY', 'TRACE'];

  it.each(paths)('by the path %s is none, by any method', async (path) => {
    for (const method of methods) {
      const answer = await send({ method, path });
      expect([method, isServed(answer), answer.status < 500]).toEqual([method, false, true]);
    }
  });

  it.each([
    ['X-HTTP-Method-Override', 'GET'],
    ['X-Original-URL', '/v1/search'],
    ['X-Rewrite-URL', '/v1/search'],
    ['X-Forwarded-Prefix', '/v1/search'],
    ['Authorization', 'x402 paid'],
    ['Accept', 'text/html'],
    ['PAYMENT-RESPONSE', encodeBase64Json({ success: true, transaction: '0x01', network: 'eip155:84532' })],
    ['X-PAYMENT-RESPONSE', encodeBase64Json({ success: true, transaction: '0x01', network: 'base-sepolia' })],
  ])('by the header %s is none', async (name, value) => {
    for (const [method, path] of [
      ['GET', '/v1/search'],
      ['POST', '/v1/search'],
      ['GET', '/health/live'],
    ] as const) {
      const answer = await send({ method, path, headers: [[name, value]] });
      expect(answer.body).not.toContain('"results"');
      if (path !== '/health/live') expect(answer.status).toBe(method === 'GET' ? 402 : 405);
    }
  });

  it('by an API key is none', async () => {
    const answer = await send({
      path: '/v1/search',
      headers: [['Authorization', `Bearer ${search.gateway.apiKey}`]],
    });
    expect(answer.status).toBe(402);
  });

  it.each(['/v1/search/?limit=3', '/v1//search?limit=3', '/V1/SEARCH?limit=3', '/v1%2Fsearch?limit=3'])(
    'costs nothing where a proof is sent to %s, which is no address',
    async (path) => {
      const headers = [['PAYMENT-SIGNATURE', await search.prove()]] as const;
      const charged = await search.charged(async () => {
        expect((await send({ path, headers })).status).toBe(404);
      });
      expect(charged).toBe(0n);
    },
  );
});
