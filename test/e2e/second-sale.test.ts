import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { PaymentRequired } from '@x402/core/types';
import { validateDiscoveryExtension } from '@x402/extensions/bazaar';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { createOperations } from '../../src/operations/index.ts';
import { decodeBase64Json } from '../../src/payments/chains/core/wire.ts';
import { startStubFacilitator, stubNetwork, type StubFacilitator } from '../mcp/stub-facilitator.ts';
import { toProof } from '../mcp/to-proof.ts';
import { sellHoroscope } from '../operations/sell-horoscope.ts';
import { startTestGateway, whenSearchReady, type TestGateway } from './start-test-gateway.ts';

let facilitator: StubFacilitator;
let gateway: TestGateway;
let agent: Client;
beforeAll(async () => {
  facilitator = await startStubFacilitator();
  gateway = await startTestGateway({
    operations: [...createOperations(readConfig({}, null).search), sellHoroscope],
    environment: {
      PUBLIC_URL: 'https://stars.example',
      X402_NETWORKS: stubNetwork,
      X402_EVM_PAY_TO: '0x00000000000000000000000000000000000000aa',
      ...facilitator.environment,
    },
  });
  await whenSearchReady(gateway);
  agent = new Client({ name: 'test-agent', version: '1' });
  await agent.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`)));
});
afterAll(async () => {
  await agent?.close();
  await gateway?.stop();
  await facilitator?.close();
});

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  gateway.call(path, { apiKey: null, headers });
const termsOverHttp = async (path: string): Promise<PaymentRequired> =>
  decodeBase64Json((await get(path)).headers.get('payment-required') ?? '') as PaymentRequired;
const termsOverMcp = async (name: string, args: object): Promise<PaymentRequired> => {
  const result = await agent.callTool({ name, arguments: { ...args } });
  return result.structuredContent as PaymentRequired;
};

describe('a second operation that is sold by x402', () => {
  it('has its own resource and price in the terms over REST', async () => {
    const { resource, accepts } = await termsOverHttp('/v1/horoscope?sign=leo&days=2');
    expect(resource).toEqual({
      url: 'https://stars.example/v1/horoscope',
      description: 'Horoscope',
      mimeType: 'application/json',
      serviceName: 'Causeway',
      tags: ['stars'],
    });
    expect(accepts.map(({ amount }) => amount)).toEqual(['100000']);
  });

  it('has its own description and schema over MCP, although the search has the same address and price there', async () => {
    const terms = await termsOverMcp('sell_horoscope', { sign: 'leo', days: 2 });
    expect(terms.resource).toMatchObject({
      url: 'https://stars.example/mcp',
      description: 'Horoscope',
      tags: ['stars'],
    });
    expect(terms.accepts.map(({ amount }) => amount)).toEqual(['100000']);
    expect(validateDiscoveryExtension(terms.extensions?.['bazaar'] as never)).toEqual({ valid: true });
    expect(terms.extensions?.['bazaar']).toMatchObject({
      info: { input: { toolName: 'sell_horoscope', example: { sign: 'leo', days: 2 } } },
    });
    const search = await termsOverMcp('search_leads', {});
    expect(search.resource?.description).toMatch(/^Influencer search/);
    expect(search.accepts.map(({ amount }) => amount)).toEqual(['100000']);
    expect(search.extensions?.['bazaar']).toMatchObject({ info: { input: { toolName: 'search_leads' } } });
  });

  it('is in the manifest beside the search', async () => {
    const manifest = (await (await get('/.well-known/x402')).json()) as Record<string, unknown>;
    expect(manifest['resources']).toEqual([
      'https://stars.example/v1/search',
      'https://stars.example/v1/horoscope',
    ]);
    const items = manifest['items'] as unknown[];
    expect(items).toHaveLength(4);
    expect(items[2]).toMatchObject({
      resource: { description: 'Horoscope' },
      price: { min: '0.05', max: '0.35' },
      accepts: [{ amount: '50000' }],
      input: { routeTemplate: '/v1/horoscope' },
    });
    expect(items[3]).toMatchObject({ type: 'mcp', input: { toolName: 'sell_horoscope' } });
    expect(manifest['instructions']).toContain('with the query parameters of your horoscope, or call');
  });

  it('is on the home page, in the instructions of the MCP server and on a page of its own', async () => {
    expect(await (await get('/')).text()).toContain('influencer search and horoscope that are paid');
    expect(agent.getInstructions()).toContain('search_leads, sell_horoscope: paid for each call');
    const page = await (await get('/v1/horoscope?sign=leo', { accept: 'text/html' })).text();
    expect(page).toContain('Tell the future: $0.05');
    expect(page).not.toContain('fictional');
  });

  it('is served for a payment, which buys nothing else', async () => {
    const path = '/v1/horoscope?sign=leo&days=2';
    const proof = Buffer.from(JSON.stringify(toProof(await termsOverHttp(path)))).toString('base64');
    const served = await get(path, { 'payment-signature': proof });
    expect(await served.json()).toEqual({ lines: ['leo: day 1', 'leo: day 2'] });
    expect(served.headers.get('x-causeway-sandbox')).toBeNull();
    expect((await get('/v1/search', { 'payment-signature': proof })).status).toBe(409);
  });

  it('has its own limit of calls, which says what is limited', async () => {
    const answers: Response[] = [];
    for (let call = 0; call < 21; call += 1) answers.push(await get('/v1/horoscope?sign=leo'));
    const last = answers.at(-1);
    expect(last?.status).toBe(429);
    expect(await last?.json()).toMatchObject({
      error: {
        message: expect.stringMatching(/^Too many horoscopes from this address: at most 20 a minute/),
      },
    });
    expect((await get('/v1/search')).status).toBe(402);
  });
});
