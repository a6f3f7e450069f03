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
  'https://gateway.example/docs',
  'https://gateway.example/openapi.json',
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

  it.each([null, '*/*', 'application/json', 'text/plain'])(
    'answers a program that accepts %s with the same as text',
    async (accept) => {
      const response = await home(accept);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
      const text = await response.text();
      for (const fact of [...facts, 'Authorization: Bearer <API_KEY>']) expect(text).toContain(fact);
      expect(text).not.toContain('<p>');
    },
  );

  it('links to existing pages, from any path prefix of a proxy', async () => {
    const page = await (await home(browser)).text();
    const links = [...page.matchAll(/href="([^"]*)"/g)].map(([, link]) => link ?? '');
    expect(links.toSorted()).toEqual(['docs', 'docs/style.css', 'openapi.json']);
    for (const link of links) expect((await gateway.call(`/${link}`, { apiKey: null })).status).toBe(200);
  });

  it('shows the configured price', async () => {
    const flat = await startTestGateway({ environment: { SEARCH_PRICING: 'flat' } });
    const text = await (await flat.call('/', { apiKey: null })).text();
    expect(text).toContain('$0.50');
    await flat.stop();
  });
});
