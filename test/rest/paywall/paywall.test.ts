import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { x402Client, x402HTTPClient } from '@x402/core/client';
import type { PaymentRequired } from '@x402/core/types';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAnswerCheck, type Description } from '../../e2e/interface-description.ts';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';

const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const wallet = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({
    environment: {
      SEARCH_RATE_PER_MINUTE: '1000',
      BRAND: 'harbour',
      X402_NETWORKS: 'eip155:84532',
      X402_EVM_PAY_TO: wallet,
    },
  });
});
afterAll(() => gateway.stop());

const open = (query: string, options: { headers?: Record<string, string>; method?: string } = {}) =>
  gateway.call(`/v1/search?${query}`, {
    ...options,
    apiKey: null,
    headers: { accept, ...options.headers },
  });

const termsOf = (response: Response): PaymentRequired =>
  JSON.parse(Buffer.from(response.headers.get('payment-required') ?? '', 'base64').toString('utf8'));

describe('a browser that opens a search', () => {
  it('is told what this very request costs, where and how it is paid', async () => {
    const response = await open('query=specialty+coffee&limit=30');
    const page = await response.text();
    expect(response.status).toBe(402);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page).toMatch(/^<!doctype html>\s*<html lang="en">/);
    expect(page).toContain('<h1>This request costs $0.12</h1>');
    for (const told of [
      '0.12 USDC',
      '<bdi>specialty coffee</bdi>',
      '<h3>Base Sepolia (test money)</h3>',
      '<code>120000</code>',
      `<code class="whole">${wallet}</code>`,
      '<code class="whole">0x036CbD53842c5426634e7929541eC2318f3dCF7e</code>',
      `${gateway.url}/v1/search?query=specialty+coffee&amp;limit=30`,
      `<code class="whole">${gateway.url}/mcp</code>`,
      '<code>search_leads</code>',
      '<a href="../pay?query=specialty+coffee&amp;limit=30">',
      '<p class="brand">Harbour</p>',
    ])
      expect(page).toContain(told);
  });

  it('gets the same terms in the header as everybody', async () => {
    const [page, json] = [await open('limit=30'), await open('limit=30', { headers: { accept: '*/*' } })];
    expect(json.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(page.headers.get('payment-required')).toBe(json.headers.get('payment-required'));
    expect(termsOf(page).accepts.map(({ amount }) => amount)).toEqual(['120000']);
    expect([page.headers.get('vary'), json.headers.get('vary')]).toEqual(['Accept', 'Accept']);
  });

  it('runs no script, keeps nothing, and asks nobody else for anything', async () => {
    const { headers, ...response } = await open('limit=1').then(async (answer) => ({
      headers: answer.headers,
      page: await answer.text(),
    }));
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; img-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(response.page).not.toMatch(/<script|\son\w+=|<img|<iframe|style="/i);
    const places = [...response.page.matchAll(/(?:href|src)="([^"]*)/g)].map(([, place]) => place ?? '');
    expect(new Set(places)).toEqual(
      new Set(['../docs/style.css', '../docs', '../openapi.json', '../pay?limit=1']),
    );
    for (const place of places)
      expect((await fetch(new URL(place, `${gateway.url}/v1/search`))).status).toBe(200);
  });

  it('with HEAD gets the headers of the page and no body', async () => {
    const [head, get] = [await open('limit=30', { method: 'HEAD' }), await open('limit=30')];
    const names = ['content-type', 'content-length', 'payment-required', 'content-security-policy', 'vary'];
    expect(head.status).toBe(402);
    expect(await head.text()).toBe('');
    expect(names.map((name) => head.headers.get(name))).toEqual(names.map((name) => get.headers.get(name)));
    expect(Buffer.byteLength(await get.text())).toBe(Number(head.headers.get('content-length')));
  });

  it('finds markup of the query as text, and nothing of a Host header', async () => {
    const hostile = '</code><script>alert("q")</script>';
    const path = `/v1/search?query=${encodeURIComponent(hostile)}&other=${encodeURIComponent(hostile)}'"<i>`;
    const page = await new Promise<string>((resolve, reject) => {
      request(
        gateway.url,
        { path, setHost: false, headers: { accept, host: '"><b>evil.example</b>' } },
        (answer) => {
          text(answer).then(resolve, reject);
        },
      )
        .once('error', reject)
        .end();
    });
    expect(page).toContain('<h1>This request costs $0.10</h1>');
    expect(page).toContain('<bdi>&lt;/code&gt;&lt;script&gt;alert(&quot;q&quot;)&lt;/script&gt;</bdi>');
    expect(page).not.toMatch(/<script|<i>|<b>|evil\.example/);
    expect(page).not.toContain('<dt><code>other');
  });

  it('gets JSON where the request cannot run, whatever it costs', async () => {
    const response = await open('limit=0');
    expect(response.status).toBe(422);
    expect(await response.json()).toHaveProperty('detail');
  });
});

describe('a client that sent a payment', () => {
  it('is told in JSON why it was refused, whatever it accepts', async () => {
    const terms = termsOf(await open('limit=1'));
    const client = new x402Client().register(
      'eip155:*',
      new ExactEvmScheme(privateKeyToAccount(generatePrivateKey())),
    );
    const cheaper = { ...terms, accepts: terms.accepts.map((accepted) => ({ ...accepted, amount: '1' })) };
    const payload = await client.createPaymentPayload(cheaper);
    const response = await open('limit=1', {
      headers: new x402HTTPClient(client).encodePaymentSignatureHeader(payload),
    });
    expect(response.status).toBe(402);
    const { error } = (await response.json()) as { error: string };
    expect(error).not.toBe(terms.error);
    expect(termsOf(response).error).toBe(error);
  });
});

describe('the interface description', () => {
  it('tells of the page and its headers', async () => {
    const document = await (await gateway.call('/openapi.json', { apiKey: null })).json();
    const check = createAnswerCheck(gateway, document as Description);
    const page = await check('/v1/search', {
      path: '/v1/search?limit=1',
      apiKey: null,
      headers: { accept },
      status: 402,
    });
    expect(page.text).toContain('<h1>');
  });
});
