import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { getToolUiResourceUri, RESOURCE_MIME_TYPE } from '@modelcontextprotocol/ext-apps/app-bridge';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from './start-gateway.ts';

let gateway: TestGateway;
/** Without a key, as a host may read views before anybody has signed in. */
let client: Client;

beforeAll(async () => {
  gateway = await startGateway({ env: { PUBLIC_URL: 'https://gateway.example/below' } });
  client = new Client({ name: 'test', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`)));
});
afterAll(async () => {
  await client.close();
  await gateway.close();
});

const listViews = async (): Promise<Record<string, string>> => {
  const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${gateway.apiKey}` } },
  });
  const keyed = new Client({ name: 'test', version: '1' });
  await keyed.connect(transport);
  const { tools } = await keyed.listTools();
  await keyed.close();
  return Object.fromEntries(
    tools.flatMap((tool) => {
      const uri = getToolUiResourceUri(tool);
      return uri === undefined ? [] : [[tool.name, uri]];
    }),
  );
};

describe('the views of tools', () => {
  it('are named by the tools that search, make media, and read jobs and the balance', async () => {
    expect(await listViews()).toEqual({
      search_leads: 'ui://gateway/leads',
      get_balance: 'ui://gateway/balance',
      create_image: 'ui://gateway/job',
      create_video: 'ui://gateway/job',
      get_video: 'ui://gateway/job',
      get_job: 'ui://gateway/job',
    });
  });

  it('are pages of at most 10 kB that anybody may read, and that load media of the gateway alone', async () => {
    for (const uri of new Set(Object.values(await listViews()))) {
      const { contents } = await client.readResource({ uri });
      expect(contents).toEqual([
        {
          uri,
          mimeType: RESOURCE_MIME_TYPE,
          text: expect.stringMatching(/^<!doctype html>/),
          _meta: { ui: { csp: { resourceDomains: ['https://gateway.example'] }, prefersBorder: true } },
        },
      ]);
      const [page] = contents;
      if (page === undefined || !('text' in page)) throw new Error(`${uri} is no text`);
      expect(Buffer.byteLength(page.text)).toBeLessThanOrEqual(10_000);
      // Modules that are joined have no imports; what strangers wrote becomes no markup.
      expect(page.text).not.toMatch(/^(?:import|export) |innerHTML|insertAdjacentHTML|document\.write/m);
    }
  });

  it('are not found at another address', async () => {
    for (const uri of ['ui://gateway/', 'ui://gateway/jobs', 'ui://gateway/../leads', 'ui://other/leads'])
      await expect(client.readResource({ uri })).rejects.toThrow(/needs an API key|not found/i);
  });
});
