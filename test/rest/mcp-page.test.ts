import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pageHeaders } from '../../src/rest/page-shell.ts';
import { startTestGateway, type TestGateway } from '../e2e/start-test-gateway.ts';

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({ environment: { PUBLIC_URL: 'https://gateway.example' } });
});
afterAll(() => gateway.stop());

const open = (path: string, accept: string, method = 'GET') =>
  gateway.call(path, { apiKey: null, method, headers: { accept } });

const account = 'https://gateway.example/mcp/account';

describe.each(['/mcp', '/mcp/account', '/mcp/search', '/mcp/generation'])('%s', (path) => {
  it('is in a browser a page without script that says how to add the server to an assistant', async () => {
    const response = await open(path, browser);
    expect(response.status).toBe(200);
    expect(response.headers.get('vary')).toBe('Accept');
    for (const [name, value] of Object.entries(pageHeaders)) expect(response.headers.get(name)).toBe(value);
    const page = await response.text();
    for (const text of [account, `claude mcp add --transport http causeway ${account}`])
      expect(page).toContain(text);
    expect(page).not.toContain('<script');
    for (const [, link = ''] of page.matchAll(/href="(?!cursor:|vscode:)([^"]*)"/g)) {
      const { pathname } = new URL(link, `https://gateway.example${path}`);
      expect([link, (await gateway.call(pathname, { apiKey: null })).status]).toEqual([link, 200]);
    }
    expect((await open(path, browser, 'HEAD')).status).toBe(200);
  });

  it('stays 405 for programs that do not POST, and takes a POST with any Accept', async () => {
    for (const accept of ['text/event-stream', 'application/json, text/event-stream', '*/*']) {
      const response = await open(path, accept);
      expect([accept, response.status, response.headers.get('allow')]).toEqual([accept, 405, 'POST']);
    }
    const posted = await gateway.call(path, { headers: { accept: browser }, body: {} });
    expect(posted.headers.get('content-type')).toMatch(/^application\/json/);
  });
});

describe('a path below /mcp without a server', () => {
  it('is not found in a browser either', async () => {
    expect((await open('/mcp/nothing', browser)).status).toBe(404);
  });
});

describe('the page at /', () => {
  it('has links that add the server to Cursor and VS Code, and lines for terminals', async () => {
    const page = (await (await open('/', browser)).text()).replaceAll('&amp;', '&');
    const [cursor = ''] = /cursor:[^"]*/.exec(page) ?? [];
    expect(new URL(cursor).pathname).toBe('/mcp/install');
    const { name, config = '' } = Object.fromEntries(new URL(cursor).searchParams);
    expect(name).toBe('causeway');
    expect(JSON.parse(Buffer.from(config, 'base64').toString())).toEqual({ url: account });
    const [, code = ''] = /vscode:mcp\/install\?([^"]*)/.exec(page) ?? [];
    expect(JSON.parse(decodeURIComponent(code))).toEqual({ name: 'causeway', type: 'http', url: account });
    for (const line of ['claude mcp add', `codex mcp add causeway --url ${account}`, 'gemini mcp add'])
      expect(page).toContain(line);
  });
});
