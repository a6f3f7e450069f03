import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { PaymentRequired } from '@x402/core/types';
import { extractDiscoveryInfo, validateDiscoveryExtension } from '@x402/extensions/bazaar';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeBase64Json } from '../../src/payments/core/base64-json.ts';
import type { Description } from './interface-description.ts';
import { startPaidSearch, type PaidSearch } from './start-paid-search.ts';

let sale: PaidSearch;
let agent: Client;
beforeAll(async () => {
  // By default the header of a chat has no room for it beside two schemes.
  sale = await startPaidSearch({ environment: { WALLET_ACCOUNTS: 'on', X402_HEADER_BYTES: '6000' } });
  agent = new Client({ name: 'test-agent', version: '1' });
  await agent.connect(new StreamableHTTPClientTransport(new URL(`${sale.gateway.url}/mcp`)));
});
afterAll(async () => {
  await agent?.close();
  await sale.stop();
});

const goods = [
  ['create_chat_completion', '/v1/chat/completions', { messages: [{ role: 'user', content: 'Hello' }] }],
  ['create_response', '/v1/responses', { input: 'Hello' }],
  ['create_image', '/v1/images/generations', { model: 'imagemodel-1.0', prompt: 'A pier.' }],
  ['create_video', '/v1/videos', { model: 'videomodel-2.0', prompt: 'A pier.' }],
  ['top_up', '/v1/topup', { amount_usd: '1.00' }],
] as const;

describe('an agent with a wallet and without a key', () => {
  it.each(goods)('finds %s in catalogues, over REST and MCP', async (name, path, body) => {
    const { call, url } = sale.gateway;
    const response = await call(path, { apiKey: null, body });
    expect(response.status).toBe(402);
    const overRest = decodeBase64Json(response.headers.get('payment-required') ?? '') as PaymentRequired;
    const asked = await agent.callTool({ name, arguments: body });
    const overMcp = asked.structuredContent as PaymentRequired;
    for (const [terms, found] of [
      [overRest, { resourceUrl: url + path, method: 'POST' }],
      [overMcp, { resourceUrl: `${url}/mcp`, toolName: name }],
    ] as const) {
      const { resource, extensions, accepts } = terms;
      expect(validateDiscoveryExtension(extensions?.['bazaar'] as never)).toEqual({ valid: true });
      expect(
        extractDiscoveryInfo({ x402Version: 2, resource, extensions } as never, accepts[0] as never),
      ).toMatchObject(found);
    }
  });

  it('reads at the root address, and in the tools, what is sold', async () => {
    const { call, url } = sale.gateway;
    const text = await (await call('/llms.txt', { apiKey: null })).text();
    for (const [name, path] of goods) {
      expect(text).toContain(`\`POST ${url}${path}\``);
      expect(text).toContain(name);
    }
    const { tools } = await agent.listTools();
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['search_leads', ...goods.map(([name]) => name)]),
    );
    expect(tools.find(({ name }) => name === 'create_image')?.inputSchema.properties?.['model']).toEqual({
      type: 'string',
      enum: ['imagemodel-1.0'],
    });
    expect(await agent.listTools()).toEqual({ tools });
  });

  it('reads in the interface description that a key is optional, and what is refused', async () => {
    const answer = await sale.gateway.call('/openapi.json', { apiKey: null });
    const { paths } = (await answer.json()) as Description;
    for (const path of [...goods.map(([, one]) => one), '/v1/auth/wallet']) {
      const item = paths[path]?.['post'];
      expect(item).toMatchObject({ security: [{}, { apiKey: [] }] });
      const codes = [401, 403].map((status) =>
        Object.keys(item?.responses[String(status)]?.content?.['application/json']?.examples ?? {}),
      );
      expect(codes.map((listed) => listed[0])).toEqual(['invalid_api_key', 'permission_denied']);
    }
    expect(paths['/v1/search']?.['get']).toMatchObject({ security: [] });
    // The price of a chat follows from its input.
    const price = { mode: 'dynamic', currency: 'USD', min: '0.01' };
    expect(paths['/v1/chat/completions']?.['post']).toHaveProperty(['x-payment-info', 'price'], price);
  });

  it('reads the manifest of all that is sold', async () => {
    const answer = await sale.gateway.call('/.well-known/x402', { apiKey: null });
    const manifest = (await answer.json()) as object;
    expect(manifest).toMatchObject({
      items: expect.arrayContaining(
        goods.map(([toolName]) => expect.objectContaining({ input: expect.objectContaining({ toolName }) })),
      ),
    });
    // Nobody needs to buy a sign-in.
    expect(JSON.stringify(manifest)).not.toContain('/v1/auth/wallet');
  });
});
