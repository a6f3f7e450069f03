import { x402Client, x402HTTPClient } from '@x402/core/client';
import type { PaymentRequired } from '@x402/core/types';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startChains, type Chains } from '../chains/start-chains.ts';
import { createAnswerCheck, type Description } from './interface-description.ts';
import { startTestGateway, whenSearchReady, type TestGateway } from './start-test-gateway.ts';

let chains: Chains;
let gateway: TestGateway;
let buyers: Record<'base' | 'solana', x402Client>;
let agent: Client;

const decode = (header: string | null): unknown =>
  JSON.parse(Buffer.from(header ?? '', 'base64').toString('utf8'));

beforeAll(async () => {
  chains = await startChains();
  const { base, solana } = chains;
  await base.mint(base.buyer.address, 100_000_000n);
  await solana.mint(solana.buyer.address, 100_000_000n);
  gateway = await startTestGateway({
    environment: { ...chains.environment, SEARCH_RATE_PER_MINUTE: '1000' },
  });
  await whenSearchReady(gateway);
  await vi.waitFor(
    async () => {
      const response = await gateway.call('/v1/search', { apiKey: null });
      const { accepts } = decode(response.headers.get('payment-required')) as PaymentRequired;
      if (accepts.length < 2) throw new Error('Solana is not offered yet');
    },
    { timeout: 60_000 },
  );
  const signer = await createKeyPairSignerFromBytes(
    new Uint8Array(getBase58Encoder().encode(solana.buyer.secretKeyBase58)),
  );
  buyers = {
    base: new x402Client().register(
      'eip155:*',
      new ExactEvmScheme(privateKeyToAccount(base.buyer.privateKey)),
    ),
    solana: new x402Client().register('solana:*', new ExactSvmScheme(signer, { rpcUrl: solana.rpcUrl })),
  };
  agent = new Client({ name: 'test-agent', version: '1' });
  await agent.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`)));
});

afterAll(async () => {
  await agent.close();
  await gateway.stop();
  await chains.stop();
});

const search = (query: string, headers: Record<string, string> = {}) =>
  gateway.call(`/v1/search?${query}`, { apiKey: null, headers });

const termsOf = async (query: string): Promise<PaymentRequired> =>
  decode((await search(query)).headers.get('payment-required')) as PaymentRequired;

const pay = async (chain: 'base' | 'solana', query: string): Promise<Record<string, string>> => {
  const payload = await buyers[chain].createPaymentPayload(await termsOf(query));
  return new x402HTTPClient(buyers[chain]).encodePaymentSignatureHeader(payload);
};

const earned = {
  base: () => chains.base.balanceOf(chains.base.seller.address),
  solana: () => chains.solana.balanceOf(chains.solana.seller.address),
};

describe('an unpaid search', () => {
  it('answers 402 with terms for every dialect, in one answer that is never stored', async () => {
    const response = await search('query=coffee');
    expect(response.status).toBe(402);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const body = (await response.json()) as Record<string, unknown>;
    expect(body).toMatchObject({
      error: expect.any(String),
      x402: {
        version: '2',
        amount: '0.10',
        asset: 'USDC',
        payTo: chains.base.seller.address,
        chain: 'base-sepolia',
      },
      x402Version: 1,
      accepts: [{ network: 'base-sepolia', maxAmountRequired: '100000' }, { network: 'solana-devnet' }],
    });
    expect(decode(response.headers.get('payment-required'))).toMatchObject({
      x402Version: 2,
      resource: { url: `${gateway.url}/v1/search` },
      accepts: [
        { scheme: 'exact', network: 'eip155:84532', amount: '100000', payTo: chains.base.seller.address },
        {
          scheme: 'exact',
          network: chains.solana.network,
          amount: '100000',
          payTo: chains.solana.seller.address,
        },
      ],
    });
  });

  it.each([
    [1, '100000'],
    [20, '100000'],
    [30, '120000'],
    [50, '160000'],
    [75, '210000'],
    [100, '260000'],
  ])('with limit %i costs %s of the smallest unit', async (limit, amount) => {
    const { accepts } = await termsOf(`limit=${limit}`);
    expect(accepts.map((term) => term.amount)).toEqual([amount, amount]);
  });
});

describe('the interface description', () => {
  it('tells of a search without and with a payment what is answered', async () => {
    const document = await (await gateway.call('/openapi.json', { apiKey: null })).json();
    const check = createAnswerCheck(gateway, document as Description);
    const query = 'query=coffee&country=US';
    const headers = await pay('base', query);
    const checked = [
      await check('/v1/search', { path: `/v1/search?${query}`, apiKey: null }),
      await check('/v1/search', { path: `/v1/search?${query}`, apiKey: null, headers }),
      await check('/v1/search', { path: `/v1/search?${query}&limit=3`, apiKey: null, headers }),
    ];
    expect(checked.map(({ name }) => name)).toEqual(['/v1/search 402', '/v1/search 200', '/v1/search 409']);
  });
});

describe.each(['base', 'solana'] as const)('a paid search on %s', (chain) => {
  it('is served with a receipt and moves exactly its price', async () => {
    const before = await earned[chain]();
    const response = await search('limit=30', await pay(chain, 'limit=30'));
    expect(response.status).toBe(200);
    const answer = (await response.json()) as { results: { followers: number }[]; count: number };
    expect(answer.count).toBe(30);
    expect(answer.results.map(({ followers }) => followers)).toEqual(
      answer.results.map(({ followers }) => followers).toSorted((a, b) => b - a),
    );
    expect(decode(response.headers.get('payment-response'))).toMatchObject({ success: true });
    expect(response.headers.get('x-payment-response')).not.toBeNull();
    expect((await earned[chain]()) - before).toBe(120_000n);
  });

  it('with ten copies of one proof at once is served once and charged once, and later from the store', async () => {
    const before = await earned[chain]();
    const headers = await pay(chain, 'query=travel');
    const answers = await Promise.all(Array.from({ length: 10 }, () => search('query=travel', headers)));
    const served = answers.filter(({ status }) => status === 200);
    expect(served).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(answer.status).toBe(409);
      expect(await answer.json()).toMatchObject({ error: { code: 'payment_in_progress' } });
    }
    const again = await search('query=travel', headers);
    expect(again.status).toBe(200);
    expect(await again.json()).toEqual(await served[0]?.json());
    expect(again.headers.get('payment-response')).toBe(served[0]?.headers.get('payment-response'));
    expect((await search('query=food', headers)).status).toBe(409);
    expect((await earned[chain]()) - before).toBe(100_000n);
  });

  it('over MCP gives the same result as over REST, and knows the proofs of REST', async () => {
    const before = await earned[chain]();
    const input = { category: 'Fitness', limit: 5 };
    const unpaid = await agent.callTool({ name: 'search_leads', arguments: input });
    expect(unpaid.isError).toBe(true);
    const terms = unpaid.structuredContent as PaymentRequired;
    const payload = await buyers[chain].createPaymentPayload(terms);
    const paid = await agent.callTool({
      name: 'search_leads',
      arguments: input,
      _meta: { 'x402/payment': payload },
    });
    expect(paid.isError).not.toBe(true);
    expect(paid._meta?.['x402/payment-response']).toMatchObject({ success: true });
    const overRest = await search('category=Fitness&limit=5', {
      'payment-signature': Buffer.from(JSON.stringify(payload)).toString('base64'),
    });
    expect(overRest.status).toBe(200);
    expect(await overRest.json()).toEqual(paid.structuredContent);
    expect((await earned[chain]()) - before).toBe(100_000n);
  });
});

describe('a proof that cannot be taken', () => {
  it.each(['nonsense', '', Buffer.from('{}').toString('base64'), Buffer.from('[1]').toString('base64')])(
    '%j is a clear 4xx and charges nothing',
    async (header) => {
      const before = await earned.base();
      const response = await search('limit=1', { 'x-payment': header });
      expect([400, 402]).toContain(response.status);
      expect(await earned.base()).toBe(before);
    },
  );

  it('for a cheaper search is refused with terms, and charges nothing', async () => {
    const before = await earned.base();
    const headers = await pay('base', 'limit=1');
    const response = await search('limit=100', headers);
    expect([400, 402]).toContain(response.status);
    expect(await earned.base()).toBe(before);
  });
});

describe('a search that finds nobody', () => {
  it('is answered for its proof, settles nothing, and leaves the proof to be used again', async () => {
    const nobody = 'query=nobodyiscalledthis';
    const headers = await pay('base', nobody);
    const before = await earned.base();
    for (const attempt of [1, 2]) {
      const response = await search(nobody, headers);
      expect([attempt, response.status, await response.json()]).toEqual([
        attempt,
        200,
        { results: [], count: 0 },
      ]);
      expect(response.headers.get('payment-response')).toBeNull();
      expect(response.headers.get('x-payment-response')).toBeNull();
      expect(response.headers.get('idempotent-replayed')).toBeNull();
    }
    expect(await earned.base()).toBe(before);
    const found = await search('limit=1', headers);
    expect([found.status, await found.json()]).toEqual([200, expect.objectContaining({ count: 1 })]);
    expect(decode(found.headers.get('payment-response'))).toMatchObject({ success: true });
    expect((await earned.base()) - before).toBe(100_000n);
  });
});

describe('a failed search', () => {
  it('settles nothing, and the same proof can be used again', async () => {
    const before = await earned.base();
    const headers = await pay('base', 'query=fashion');
    const { leads } = gateway.services;
    const { search: working } = leads;
    leads.search = () => Promise.reject(new Error('the source is down'));
    const failed = await search('query=fashion', headers);
    leads.search = working;
    expect(failed.status).toBeGreaterThanOrEqual(500);
    expect(await earned.base()).toBe(before);
    expect((await search('query=fashion', headers)).status).toBe(200);
    expect((await earned.base()) - before).toBe(100_000n);
  });
});
