import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sendModern } from '../mcp/task-requester.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const named = 'io.modelcontextprotocol/serverInfo';

const sendLegacy = async (method: string, params: object): Promise<string> => {
  const answer = await gateway.call('/mcp', {
    body: { jsonrpc: '2.0', id: 1, method, params },
    headers: { accept: 'application/json, text/event-stream' },
  });
  return answer.text();
};

const hello = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
};

describe('the icon of the service', () => {
  it('is a small picture that the home page links', async () => {
    const home = await gateway.call('/', { apiKey: null, headers: { accept: 'text/html' } });
    expect(home.headers.get('content-security-policy')).toContain("img-src 'self'");
    expect(await home.text()).toContain('<link rel="icon" href="favicon.svg" type="image/svg+xml" />');
    const icon = await gateway.call('/favicon.svg', { apiKey: null });
    expect(icon.headers.get('content-type')).toMatch(/^image\/svg\+xml/);
    const picture = await icon.text();
    expect(picture).toMatch(/^<svg /);
    expect(picture.length).toBeLessThanOrEqual(1_024);
  });

  it('is told by MCP before the first call, and in no other answer', async () => {
    const icons = [{ src: `${gateway.url}/favicon.svg`, mimeType: 'image/svg+xml', sizes: ['any'] }];
    const begun = await sendLegacy('initialize', hello);
    expect(JSON.parse(begun.slice(begun.indexOf('{'))).result.serverInfo).toMatchObject({ icons });
    expect(await sendLegacy('tools/list', {})).not.toContain('favicon');
    const modern = { url: `${gateway.url}/mcp`, apiKey: gateway.apiKey };
    const serverIn = async (method: string, params = {}, mark = '') => {
      const { result } = await sendModern(modern, { method, params, mark });
      return Object(result?.['_meta'])[named];
    };
    // A mark before the message leaves it to the library.
    for (const mark of ['', '\uFEFF']) {
      expect(await serverIn('server/discover', {}, mark)).toMatchObject({ name: 'causeway', icons });
      for (const [method, params] of [
        ['tools/list', {}],
        ['tools/call', { name: 'get_balance', arguments: {} }],
      ] as const) {
        const server = await serverIn(method, params, mark);
        expect(server).toMatchObject({ name: 'causeway' });
        expect(server).not.toHaveProperty('icons');
      }
    }
  });
});
