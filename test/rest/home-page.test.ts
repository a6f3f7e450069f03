import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pageHeaders } from '../../src/rest/page-shell.ts';
import { startTestGateway, type TestGateway } from '../e2e/start-test-gateway.ts';

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({ environment: { PUBLIC_URL: 'https://gateway.example' } });
});
afterAll(() => gateway.stop());

const home = (accept: string | null) =>
  gateway.call('/', { apiKey: null, ...(accept === null ? {} : { headers: { accept } }) });

const facts = [
  'https://gateway.example/mcp',
  'https://gateway.example/v1',
  'search_leads',
  '$0.10',
  'fictional',
];

describe('the root address', () => {
  it('answers a browser with a page that needs no script', async () => {
    const response = await home(browser);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('vary')).toBe('Accept');
    for (const [name, value] of Object.entries(pageHeaders)) expect(response.headers.get(name)).toBe(value);
    const page = await response.text();
    for (const fact of [...facts, 'Authorization: Bearer &lt;API_KEY&gt;']) expect(page).toContain(fact);
    expect(page).not.toContain('<script');
  });

  it.each([
    [null, 'text/plain'],
    ['*/*', 'text/plain'],
    ['text/plain', 'text/plain'],
    ['text/markdown, text/html, */*', 'text/markdown'],
  ])('answers a program that accepts %s with the same as %s, as at /llms.txt', async (accept, type) => {
    const response = await home(accept);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe(`${type}; charset=utf-8`);
    const text = await response.text();
    for (const fact of [...facts, 'Authorization: Bearer <API_KEY>']) expect(text).toContain(fact);
    expect(text).not.toContain('<p>');
    expect(await (await gateway.call('/llms.txt', { apiKey: null })).text()).toBe(text);
  });

  it('tells the prices of a call and of each model in JSON', async () => {
    const response = await home('application/json, text/plain, */*');
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const { data } = (await (await gateway.call('/v1/models')).json()) as { data: Record<string, unknown>[] };
    expect(await response.json()).toMatchObject({
      mcp: { url: 'https://gateway.example/mcp' },
      paid_per_call: [
        { url: 'https://gateway.example/v1/search', price: { min: '0.10', max: '0.26', is_quoted: false } },
      ],
      models: data.map(({ id, kind, pricing }) => ({ id, kind, pricing })),
    });
  });

  it('links to existing pages, from any path prefix of a proxy', async () => {
    const page = await (await home(browser)).text();
    const links = [...page.matchAll(/href="([^"]*)"/g)].map(([, link]) => link ?? '');
    expect(links.toSorted()).toEqual([
      '.well-known/mcp/server.json',
      '.well-known/x402',
      'docs',
      'docs/style.css',
      'llms.txt',
      'openapi.json',
    ]);
    for (const link of links) expect((await gateway.call(`/${link}`, { apiKey: null })).status).toBe(200);
  });

  it('is described for the MCP registry under the name of its host', async () => {
    const response = await gateway.call('/.well-known/mcp/server.json', { apiKey: null });
    const server = (await response.json()) as { name: string; description: string };
    expect(server).toMatchObject({
      name: 'example.gateway/causeway',
      remotes: [
        {
          type: 'streamable-http',
          url: 'https://gateway.example/mcp',
          headers: [{ name: 'Authorization', isRequired: false, isSecret: true, value: 'Bearer {api_key}' }],
        },
      ],
    });
    expect(server.description).toContain('influencer search');
    expect(server.description.length).toBeLessThanOrEqual(100);
  });

  it('shows the configured price', async () => {
    const flat = await startTestGateway({ environment: { SEARCH_PRICING: 'flat' } });
    const text = await (await flat.call('/', { apiKey: null })).text();
    expect(text).toContain('$0.50');
    await flat.stop();
  });
});
