import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Outbound } from '../../../src/http/outbound.ts';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { createAssistant, openBrowser } from './assistant.ts';

const metadata = {
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};

/** Assistants by the address of their document: its redirects, and the one to which they return. */
const assistants: Record<string, { redirect_uris: string[]; returnsTo: string; name: string }> = {
  'https://claude.ai/oauth/claude-code-client-metadata': {
    name: 'Claude Code',
    redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
    returnsTo: 'http://localhost:51234/callback',
  },
  'https://vscode.dev/oauth/client-metadata.json': {
    name: 'Visual Studio Code',
    redirect_uris: ['https://vscode.dev/redirect', 'http://127.0.0.1/', 'http://localhost/'],
    returnsTo: 'https://vscode.dev/redirect',
  },
  'https://cursor.example/client.json': {
    name: 'Cursor',
    redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback'],
    returnsTo: 'cursor://anysphere.cursor-mcp/oauth/callback',
  },
};

const download: Outbound['download'] = async (url) => {
  const { name, redirect_uris } = assistants[url]!;
  const text = JSON.stringify({ client_id: url, client_name: name, redirect_uris, ...metadata });
  return { contentType: 'application/json', body: Readable.from([Buffer.from(text)]) };
};

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
  Object.assign(gateway.services, { outbound: { ...gateway.services.outbound, download } });
});
afterAll(() => gateway.stop());

describe('the stock client, which describes itself at an address', () => {
  it.each(Object.entries(assistants))(
    'signs in without a registration, and calls tools: %s',
    async (url, { name, returnsTo }) => {
      const assistant = createAssistant(`${gateway.url}/mcp/account`, {
        redirectUrl: returnsTo,
        clientMetadataUrl: url,
      });
      const { page, finish } = await assistant.begin();
      expect(assistant.saved.client).toEqual({ client_id: url, issuer: `${gateway.url}/oauth` });
      const browser = openBrowser();
      const entered = new URL((await browser.go(page)).headers.get('location')!, gateway.url);
      const shown = await (await browser.go(entered)).text();
      expect(shown).toContain(`<bdi>${new URL(url).host}</bdi>`);
      expect(shown).toContain(`It calls itself <bdi>${name}</bdi>`);
      const body = new URLSearchParams({
        key: gateway.apiKey,
        budget_day_usd: '1',
        answer: 'allow',
        scope: 'read',
      });
      const back = await browser.follow(await browser.go(entered, { method: 'POST', body }), gateway.url);
      if (back instanceof Response) throw new Error(await back.text());
      expect(back.href.startsWith(returnsTo)).toBe(true);
      await finish(back);
      const client = await assistant.connect();
      const { structuredContent } = await client.callTool({ name: 'get_balance', arguments: {} });
      expect(structuredContent).toMatchObject({ balance_usd: '25.00' });
      await client.close();
    },
  );
});
