import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, it } from 'vitest';
import { startTestGateway, whenSearchReady } from './start-test-gateway.ts';

describe('the search limit of an address', () => {
  it('counts REST and MCP together, paid or not, and says when to come back', async () => {
    const gateway = await startTestGateway({ environment: { SEARCH_RATE_PER_MINUTE: '4' } });
    const agent = new Client({ name: 'test-agent', version: '1' });
    try {
      await agent.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`)));
      const statuses: number[] = [];
      for (let index = 0; index < 3; index += 1)
        statuses.push((await gateway.call('/v1/search?limit=1', { apiKey: null })).status);
      const fourth = await agent.callTool({ name: 'search_leads', arguments: { limit: 1 } });
      const fifth = await gateway.call('/v1/search?limit=1', { apiKey: null });
      expect(statuses).toEqual([402, 402, 402]);
      expect(fourth.structuredContent).toHaveProperty('accepts');
      expect(fifth.status).toBe(429);
      expect(Number(fifth.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await fifth.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
      const sixth = await agent.callTool({ name: 'search_leads', arguments: { limit: 1 } });
      expect(sixth).toMatchObject({
        isError: true,
        structuredContent: { error: { code: 'rate_limit_exceeded' } },
      });
    } finally {
      await agent.close();
      await gateway.stop();
    }
  });

  it('counts free looks too, which need no proof', async () => {
    const gateway = await startTestGateway({ environment: { SEARCH_RATE_PER_MINUTE: '2' } });
    const agent = new Client({ name: 'test-agent', version: '1' });
    try {
      await whenSearchReady(gateway);
      await agent.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`)));
      const path = '/v1/search?count_only=true';
      const look = await gateway.call(path, { apiKey: null });
      expect(look.status).toBe(200);
      const counted = await look.json();
      expect(counted).toEqual({ results: [], count: 0, matches: 100, has_more_matches: true });
      const asked = { name: 'search_leads', arguments: { count_only: true } };
      expect((await agent.callTool(asked)).structuredContent).toMatchObject({ matches: 100 });
      expect((await gateway.call(path, { apiKey: null })).status).toBe(429);
      expect((await gateway.call('/v1/search/facets', { apiKey: null })).status).toBe(429);
    } finally {
      await agent.close();
      await gateway.stop();
    }
  });

  it('counts the address that a trusted proxy names, and nobody can name another', async () => {
    const gateway = await startTestGateway({
      environment: { SEARCH_RATE_PER_MINUTE: '1', TRUSTED_PROXY_HOPS: '1' },
    });
    try {
      const from = async (forwarded: string): Promise<number> =>
        (
          await gateway.call('/v1/search?limit=1', {
            apiKey: null,
            headers: { 'x-forwarded-for': forwarded },
          })
        ).status;
      expect(await from('203.0.113.1')).toBe(402);
      expect(await from('203.0.113.2')).toBe(402);
      expect(await from('198.51.100.9, 203.0.113.1')).toBe(429);
    } finally {
      await gateway.stop();
    }
  });
});
