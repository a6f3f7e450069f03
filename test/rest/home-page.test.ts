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

const textOf = (markup: string): string =>
  markup
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
    .trim();

/** The rows of the table of a page, with their cells. */
const rowsOf = (page: string): string[] =>
  [...page.matchAll(/<tr>([^]*?)<\/tr>/g)].map(([, row = '']) =>
    [...row.matchAll(/<t[hd][^>]*>([^]*?)<\/t[hd]>/g)]
      .map(([, cell = '']) => textOf(cell).replaceAll(/\s+/g, ' '))
      .join(' | '),
  );

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
      paid_per_call: [{ url: 'https://gateway.example/v1/search', price: { min: '0.10', max: '0.26' } }],
      models: data.map(({ id, kind, pricing }) => ({ id, kind, pricing })),
    });
  });

  it('names no network as long as none can be reached', async () => {
    const offline = await startTestGateway({
      environment: { X402_FACILITATOR_URL: 'http://127.0.0.1:1', WALLET_ACCOUNTS: 'on' },
    });
    const [text = '', page = '', json = ''] = await Promise.all(
      ['text/plain', browser, 'application/json'].map(async (accept) =>
        (await offline.call('/', { apiKey: null, headers: { accept } })).text(),
      ),
    );
    expect(json).toContain('"x402":{"networks":[]}');
    for (const told of [text, page]) {
      expect(told).toContain('No payment network can be reached now');
      expect(told).not.toContain('Base Sepolia');
    }
    await offline.stop();
  });

  it('has an example of every call that can be bought with the SKUs that are there', async () => {
    const own = await startTestGateway({
      environment: { WALLET_ACCOUNTS: 'on' },
      yaml: `models:
  own-chat: { kind: chat, price: { unit: call, price_usd: 0.5 }, routes: [{ provider: sandbox }] }
  own-film:
    kind: video
    duration: { min_seconds: 7, max_seconds: 9 }
    price: { unit: second, rates: [{ resolution: 1080p, price_usd: "0.10" }] }
    routes: [{ provider: sandbox }]
`,
    });
    const text = await (await own.call('/llms.txt', { apiKey: null })).text();
    const sold = [...text.matchAll(/\(`POST \S+(\/v1\S+)`\): (.*?)\. .*Body: `(.*)`/g)];
    expect(sold.map(([, path, price]) => [path, price])).toEqual([
      ['/v1/chat/completions', '$0.50 for each chat completion'],
      ['/v1/responses', '$0.50 for each response'],
      ['/v1/videos', '$0.70 to $0.90 for each video'],
      ['/v1/topup', '$0.10 to $1000.00 for each top-up'],
    ]);
    for (const [, path = '', , body] of sold)
      expect((await own.call(path, { apiKey: null, body })).status).toBe(402);
    await own.stop();
  });

  it('links to existing pages, from any path prefix of a proxy', async () => {
    const page = await (await home(browser)).text();
    const links = [...page.matchAll(/href="(?!cursor:|vscode:)([^"]*)"/g)].map(([, link]) => link ?? '');
    expect(links.toSorted()).toEqual([
      '.well-known/mcp/server.json',
      '.well-known/x402',
      'console',
      'docs',
      'docs/style.css',
      'favicon.svg',
      'llms.txt',
      'mcp',
      'openapi.json',
    ]);
    for (const link of links) {
      const { status } = await gateway.call(`/${link}`, { apiKey: null, headers: { accept: browser } });
      expect([link, status]).toEqual([link, 200]);
    }
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

  it('shows to people in one table each operation, its price, and who may call it', async () => {
    expect(rowsOf(await (await home(browser)).text())).toEqual([
      'What | Price | For whom',
      'Search influencers GET /v1/search | $0.10 to $0.26 for each search | a wallet with USDC',
      expect.stringMatching(
        /^Ask a text model POST \/v1\/chat\/completions \| textmodel-3\.5-flash \$1\.05 for a million .* \| an API key$/,
      ),
      'Ask a text model, Responses form POST /v1/responses | the prices of “Ask a text model” | an API key',
      'Make an image POST /v1/images/generations | imagemodel-1.0 $0.04 a call | an API key',
      expect.stringMatching(
        /^Make a video POST \/v1\/videos \| videomodel-2\.0 480p \$0\.02, .* \| an API key$/,
      ),
      'Countries and categories to search for GET /v1/search/facets | free | everybody',
    ]);
  });

  it('shows what a wallet pays for a call that an account can make too', async () => {
    const wallets = await startTestGateway({ environment: { WALLET_ACCOUNTS: 'on' } });
    const page = await (await wallets.call('/', { apiKey: null, headers: { accept: browser } })).text();
    expect(rowsOf(page)).toContain(
      'Make an image POST /v1/images/generations | imagemodel-1.0 $0.04 a call without a key $0.04 for each image | an API key, or a wallet with USDC',
    );
    await wallets.stop();
  });

  it('has code to copy for an assistant, a program with a key, and an agent with a wallet', async () => {
    const page = await (await home(browser)).text();
    const [install = '', curl = '', wallet = ''] = [
      ...page.matchAll(/<pre [^>]*><code>([^]*?)<\/code>/g),
    ].map(([, code = '']) => textOf(code));
    expect(install).toContain('claude mcp add --transport http causeway https://gateway.example/mcp/account');
    expect(curl).toContain('curl -X POST "https://gateway.example/v1/chat/completions"');
    expect(wallet).toContain("from '@x402/fetch'");
    expect(wallet).toContain(
      "payingFetch('https://gateway.example/v1/search?query=coffee&country=US&limit=20')",
    );
    const [, body = ''] = /-d '([^]*)'$/.exec(curl) ?? [];
    expect((await gateway.call('/v1/chat/completions', { body })).status).toBe(200);
  });

  it('shows the configured price', async () => {
    const flat = await startTestGateway({ environment: { SEARCH_PRICING: 'flat' } });
    const text = await (await flat.call('/', { apiKey: null })).text();
    expect(text).toContain('$0.50');
    await flat.stop();
  });
});
