import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { PaymentRequired } from '@x402/core/types';
import { extractDiscoveryInfo, validateDiscoveryExtension } from '@x402/extensions/bazaar';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeBase64Json } from '../../src/payments/chains/core/wire.ts';
import { connectAssistant } from './account-calls.ts';
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

interface Item {
  accepts: { amount: string }[];
  input: { routeTemplate?: string };
}

interface Terms {
  x402: { amount: string };
  accepts: { maxAmountRequired: string }[];
}

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
      default: 'imagemodel-1.0',
    });
    expect(await agent.listTools()).toEqual({ tools });
  });

  it('reads in the interface description that a key is optional, and what is refused', async () => {
    const answer = await sale.gateway.call('/openapi.json', { apiKey: null });
    const { info, paths } = (await answer.json()) as Description;
    const optional = [{}, { apiKey: [] }];
    const sold = goods.map(([, path]) => [path, optional, 'invalid_api_key'] as const);
    // A sign-in reads no key.
    for (const [path, security, first] of [...sold, ['/v1/auth/wallet', [], 'invalid_sign_in'] as const]) {
      const item = paths[path]?.['post'];
      expect(item).toMatchObject({ security });
      const codes = [401, 403].map((status) =>
        Object.keys(item?.responses[String(status)]?.content?.['application/json']?.examples ?? {}),
      );
      expect(codes.map((listed) => listed[0])).toEqual([first, 'permission_denied']);
    }
    expect(paths['/v1/search']?.['get']).toMatchObject({ security: [] });
    const pricesOf = (path: string): unknown => paths[path]?.['post'];
    for (const [path, price] of [
      ['/v1/chat/completions', { mode: 'dynamic', currency: 'USD', min: '0.01', max: null }],
      ['/v1/images/generations', { mode: 'fixed', currency: 'USD', amount: '0.04' }],
      ['/v1/videos', { mode: 'dynamic', currency: 'USD', min: '0.08', max: '8.40' }],
    ] as const)
      expect(pricesOf(path)).toHaveProperty(['x-payment-info', 'price'], price);
    // Signing in is free.
    expect(pricesOf('/v1/auth/wallet')).not.toHaveProperty('x-payment-info');
    expect(info).toMatchObject({
      summary: 'Generation, prepaid by API key or paid per request, and influencer search paid per request.',
    });
  });

  it('reads in the reference which calls need a key', async () => {
    const page = await (await sale.gateway.call('/docs', { apiKey: null })).text();
    const noteOf = (name: string): string =>
      new RegExp(`id="${name}">.*?<p class="note">(.*?)</p>`, 's').exec(page)?.[1]?.trim() ?? '';
    expect(noteOf('create_image')).toMatch(/^Takes an API key as bearer token. Without one it answers 402/);
    expect(noteOf('get_balance')).toBe('Needs an API key as bearer token.');
  });

  it('reads the manifest of all that is sold, at the prices of the cheapest calls', async () => {
    const { call } = sale.gateway;
    const answer = await call('/.well-known/x402', { apiKey: null });
    const manifest = (await answer.json()) as { items: Item[] };
    const cheapest = [
      ['/v1/chat/completions', { messages: [{ role: 'user', content: '.' }], max_tokens: 1 }, null],
      ['/v1/responses', { input: '.', max_output_tokens: 1 }, null],
      ['/v1/images/generations', { model: 'imagemodel-1.0', prompt: '.' }, '0.04'],
      ['/v1/videos', { model: 'videomodel-2.0', prompt: '.', duration: 4, resolution: '480p' }, '8.40'],
      ['/v1/topup', { amount_usd: '0.10' }, '1000.00'],
    ] as const;
    for (const [path, body, max] of cheapest) {
      const asked = (await (await call(path, { apiKey: null, body })).json()) as Terms;
      const item = manifest.items.find(({ input }) => input.routeTemplate === path);
      expect(item).toMatchObject({ price: { min: asked.x402.amount, max } });
      expect(item?.accepts.map(({ amount }) => amount)).toEqual(
        asked.accepts.map(({ maxAmountRequired }) => maxAmountRequired),
      );
    }
    const dearest = { model: 'videomodel-2.5', prompt: '.', duration: 30, resolution: '4k' };
    const asked = await call('/v1/videos', { apiKey: null, body: dearest });
    expect(await asked.json()).toMatchObject({ x402: { amount: '8.40' } });
    expect(manifest).toMatchObject({
      items: expect.arrayContaining(
        goods.map(([toolName]) => expect.objectContaining({ input: expect.objectContaining({ toolName }) })),
      ),
    });
    // Nobody needs to buy a sign-in.
    expect(JSON.stringify(manifest)).not.toContain('/v1/auth/wallet');
  });
});

it('an assistant with a key is told over MCP what is paid for each call, and of no sign-in', async () => {
  const client = await connectAssistant(sale.gateway, sale.gateway.apiKey);
  expect(client.getInstructions()).toContain('top_up: paid for each call');
  expect(client.getInstructions()).not.toContain('sign_in');
  await client.close();
});
