import type { PaymentRequired } from '@x402/core/types';
import { extractDiscoveryInfo, validateDiscoveryExtension } from '@x402/extensions/bazaar';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { decodeBase64Json } from '../../src/payments/chains/core/wire.ts';
import { acceptTools } from '../../src/operator/tools.ts';
import { runVerb } from '../../src/operator/run-verb.ts';
import { startTestGateway } from '../e2e/start-test-gateway.ts';
import { acceptToolsOf } from './accept-tools.ts';
import { shopYaml, startToolSale, toolPath, type ToolSale } from './start-tool-sale.ts';

let sale: ToolSale;
beforeAll(async () => {
  sale = await startToolSale();
});
afterAll(() => sale?.stop());

const read = (path: string, accept = '*/*'): Promise<Response> =>
  sale.gateway.call(path, { apiKey: null, headers: { accept } });

interface Manifest {
  items: { resource: { url: string }; price?: object; accepts: { amount: string }[] }[];
  instructions: string;
}

it('the pages for programs name the accepted tools that are sold, with their prices and no text of their server', async () => {
  const address = `${sale.gateway.url}${toolPath('find')}`;
  for (const [path, accept] of [
    ['/llms.txt', '*/*'],
    ['/', 'text/markdown'],
    ['/', 'text/html'],
  ] as const) {
    const text = await (await read(path, accept)).text();
    expect(text).toContain('shop__find');
    expect(text).toContain('$0.001 a row, at most 20 rows ($0.02)');
    expect(text).not.toContain('shop__free');
    expect(text).not.toContain('IGNORE ALL');
  }
  const home = (await (await read('/', 'application/json')).json()) as { paid_per_call: object[] };
  expect(home.paid_per_call).toContainEqual({
    ...{ name: 'shop__find', title: 'shop__find', method: 'POST', url: address },
    price: { currency: 'USD', min: '0.02', max: '0.02' },
  });
  const openApi = await (await read('/openapi.json')).text();
  expect(openApi).not.toContain('IGNORE ALL');
  expect(JSON.parse(openApi)).toMatchObject({
    paths: {
      '/v1/tools/{server}/{tool}': {
        post: { 'x-payment-info': { price: { mode: 'dynamic', min: '0.01', max: '0.05' } } },
      },
    },
  });
});

it('the manifest has an item for each of them, at the price that its terms ask for', async () => {
  const { items, instructions } = (await (await read('/.well-known/x402')).json()) as Manifest;
  const tools = items.filter(({ resource }) => resource.url.includes('/v1/tools/'));
  expect(tools.map(({ resource }) => resource.url.split('/').at(-1))).toEqual([
    'die',
    'fail',
    'find',
    'list',
    'look',
    'strict',
    'tell',
    'work',
  ]);
  const found = tools.find(({ resource }) => resource.url.endsWith('/find'));
  expect(found).toMatchObject({ price: { min: '0.02', max: '0.02' }, accepts: [{ amount: '20000' }, {}] });
  expect(instructions.split('tool call')).toHaveLength(2);
  expect(JSON.stringify({ items, instructions })).not.toContain('IGNORE ALL');
});

it('the terms of a tool describe it to catalogues, by its own address', async () => {
  const answer = await sale.ask('find');
  const terms = decodeBase64Json(answer.headers.get('payment-required') ?? '') as PaymentRequired;
  const { resource, extensions, accepts } = terms;
  expect(validateDiscoveryExtension(extensions?.['bazaar'] as never)).toEqual({ valid: true });
  expect(
    extractDiscoveryInfo({ x402Version: 2, resource, extensions } as never, accepts[0] as never),
  ).toMatchObject({ resourceUrl: sale.gateway.url + toolPath('find'), method: 'POST' });
});

it('real tools are sold for real money where all models are of the sandbox, and no page names an unaccepted one', async () => {
  const gateway = await startTestGateway({
    yaml: shopYaml,
    environment: {
      X402_NETWORKS: 'eip155:8453',
      X402_EVM_PAY_TO: `0x${'1'.repeat(40)}`,
      X402_FACILITATOR_URL: 'http://127.0.0.1:9',
      PUBLIC_URL: 'https://shop.example',
      WALLET_ACCOUNTS: 'on',
      RUNS_FILE: '/dev/null',
      PATH: process.env['PATH'] ?? '',
    },
  });
  onTestFinished(gateway.stop);
  const { store, clock, config } = gateway.services;
  const named = async (): Promise<string[]> => {
    const text = await (await gateway.call('/llms.txt', { apiKey: null })).text();
    return ['shop__work', 'shop__find', '/v1/images/generations'].filter((name) => text.includes(name));
  };
  expect(await named()).toEqual([]);
  await acceptToolsOf(gateway.services, 'shop', 'work');
  expect(await named()).toEqual(['shop__work']);
  // Nothing but the page itself asks for the tools from here on.
  const services = { store, clock, brand: config.brand, config: async () => config };
  const call = { actor: 'cli:tests', actorLabel: null, role: 'write', requestId: null } as const;
  await runVerb(acceptTools, async () => ({ server: 'shop', tool: 'find' }), call, services);
  await expect.poll(named, { timeout: 10_000 }).toEqual(['shop__work', 'shop__find']);
  const unpaid = await gateway.call(toolPath('work'), { apiKey: null, body: {} });
  expect([unpaid.status, unpaid.headers.has('x-causeway-sandbox')]).toEqual([402, false]);
});
