import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { HTTPFacilitatorClient } from '@x402/core/server';
import type { PaymentRequired, SettleResponse } from '@x402/core/types';
import { extractDiscoveryInfo, validateDiscoveryExtension } from '@x402/extensions/bazaar';
import {
  decodeSignedOffers,
  extractOffersFromPaymentRequired,
  extractReceiptFromResponse,
  extractReceiptPayload,
  findAcceptsObjectFromSignedOffer,
  verifyOfferSignatureJWS,
  verifyReceiptMatchesOffer,
  verifyReceiptSignatureJWS,
} from '@x402/extensions/offer-receipt';
import { appendPaymentIdentifierToExtensions } from '@x402/extensions/payment-identifier';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { decodeBase64Json } from '../../src/payments/chains/core/wire.ts';
import { startChains, type Chains } from '../chains/start-chains.ts';
import { startTestGateway, whenSearchReady, type TestGateway } from './start-test-gateway.ts';

let chains: Chains;
let gateway: TestGateway;
let agent: Client;
/** Clients that pay on one chain each, and give each payment an identifier. */
let buyers: Record<'base' | 'solana', x402Client>;

const feePayerOf = ({ feePayer }: Record<string, unknown>): Record<string, unknown> =>
  feePayer === undefined ? {} : { feePayer };

const withIdentifiers = (client: x402Client): x402Client =>
  client.registerExtension({
    key: 'payment-identifier',
    enrichPaymentPayload: (payload, required) =>
      Promise.resolve({
        ...payload,
        extensions: appendPaymentIdentifierToExtensions(structuredClone(required.extensions ?? {})),
      }),
  });

beforeAll(async () => {
  chains = await startChains();
  const { base, solana } = chains;
  await base.mint(base.buyer.address, 100_000_000n);
  await solana.mint(solana.buyer.address, 100_000_000n);
  gateway = await startTestGateway({
    environment: { ...chains.environment, SEARCH_RATE_PER_MINUTE: '1000', X402_HEADER_BYTES: '7168' },
  });
  await whenSearchReady(gateway);
  const { x402 } = gateway.services;
  await vi.waitUntil(() => x402.status().every(({ ready }) => ready), { timeout: 60_000 });
  const signer = await createKeyPairSignerFromBytes(
    new Uint8Array(getBase58Encoder().encode(solana.buyer.secretKeyBase58)),
  );
  buyers = {
    base: withIdentifiers(
      new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(base.buyer.privateKey))),
    ),
    solana: withIdentifiers(
      new x402Client().register('solana:*', new ExactSvmScheme(signer, { rpcUrl: solana.rpcUrl })),
    ),
  };
  agent = new Client({ name: 'test-agent', version: '1' });
  await agent.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`)));
});
afterAll(async () => {
  await agent?.close();
  await gateway?.stop();
  await chains?.stop();
});

const termsOverHttp = async (query = ''): Promise<PaymentRequired> => {
  const response = await gateway.call(`/v1/search?${query}`, { apiKey: null });
  return decodeBase64Json(response.headers.get('payment-required') ?? '') as PaymentRequired;
};
const termsOverMcp = async (): Promise<PaymentRequired> => {
  const result = await agent.callTool({ name: 'search_leads', arguments: {} });
  return result.structuredContent as PaymentRequired;
};

describe.each([
  ['HTTP', '/v1/search', termsOverHttp],
  ['MCP', '/mcp', termsOverMcp],
] as const)('the terms of a search over %s', (transport, path, terms) => {
  it('are catalogued by a facilitator as they are called', async () => {
    const { resource, extensions, accepts } = await terms();
    expect(validateDiscoveryExtension(extensions?.['bazaar'] as never)).toEqual({ valid: true });
    const found = extractDiscoveryInfo(
      { x402Version: 2, resource, extensions } as never,
      accepts[0] as never,
    );
    expect(found).toMatchObject({
      resourceUrl: `${gateway.url}${path}`,
      serviceName: 'Causeway',
      ...(transport === 'HTTP' ? { method: 'GET' } : { toolName: 'search_leads' }),
    });
  });

  it('name a facilitator that tells what it settles, and settles for nobody else', async () => {
    const required = await terms();
    for (const { scheme, network, extra } of required.accepts) {
      const address = String(extra['facilitator']);
      const { kinds } = await new HTTPFacilitatorClient({ url: address }).getSupported();
      const kind = kinds.find((each) => each.x402Version === 2 && each.network === network);
      expect(kind).toMatchObject({ scheme, extra: feePayerOf(extra) });
      expect(kinds.filter(({ x402Version }) => x402Version === 1)).toHaveLength(2);
      for (const path of ['verify', 'settle']) {
        const refused = await fetch(`${address}/${path}`, { method: 'POST', body: '{}' });
        expect(refused.status).toBe(403);
        expect(await refused.json()).toMatchObject({
          error: { type: 'invalid_request_error', code: 'facilitator_not_public' },
        });
        expect(refused.headers.get('x-request-id')).toMatch(/^req_/);
      }
    }
  });

  it('are signed, with a key that is found at the address of the service', async () => {
    const required = await terms();
    const offers = extractOffersFromPaymentRequired(required);
    expect(offers).toHaveLength(2);
    // Without a key of ours the verifier resolves the one that the offer names.
    await Promise.all(offers.map((offer) => verifyOfferSignatureJWS(offer as never)));
    for (const offer of decodeSignedOffers(offers)) {
      expect(findAcceptsObjectFromSignedOffer(offer, required.accepts)).toBeDefined();
      expect(offer.resourceUrl).toBe(required.resource?.url);
      expect(offer.validUntil).toBeGreaterThan(Date.now() / 1000 + 60);
    }
  });
});

describe('the schema that MCP terms describe', () => {
  it('is the one that the tool lists', async () => {
    const { extensions } = await termsOverMcp();
    const { tools } = await agent.listTools();
    const { inputSchema } = tools.find(({ name }) => name === 'search_leads') ?? {};
    expect(extensions?.['bazaar']).toMatchObject({ info: { input: { inputSchema } } });
  });
});

describe.each(['base', 'solana'] as const)(
  'an official client on %s that gives back every extension',
  (chain) => {
    it('pays in a header that proxies let through, and gets a receipt that matches the offer, again later too', async () => {
      const sent: string[] = [];
      const answers: Response[] = [];
      const pay = wrapFetchWithPayment(async (input, init) => {
        const request = new Request(input, init);
        sent.push(request.headers.get('payment-signature') ?? '');
        const answer = await fetch(request);
        answers.push(answer);
        return answer;
      }, buyers[chain]);
      const address = `${gateway.url}/v1/search?category=${chain === 'base' ? 'Food' : 'Travel'}&limit=3`;
      const response = await pay(address);
      expect(response.status).toBe(200);

      const proof = sent.find((text) => text !== '') ?? '';
      expect(proof.length).toBeLessThan(8_000);
      const { extensions } = decodeBase64Json(proof) as PaymentRequired;
      expect(Object.keys(extensions ?? {}).toSorted()).toEqual([
        'bazaar',
        'offer-receipt',
        'payment-identifier',
      ]);
      expect(extensions?.['payment-identifier']).toMatchObject({
        info: { id: expect.stringMatching(/^pay_/) },
      });

      const receipt = extractReceiptFromResponse(response);
      if (receipt === undefined) throw new Error('there is no receipt');
      const payload = await verifyReceiptSignatureJWS(receipt as never);
      expect(extractReceiptPayload(receipt)).toEqual(payload);
      const offers = decodeSignedOffers(extractOffersFromPaymentRequired(await termsOverHttp('limit=3')));
      const { network } = chains[chain];
      const offer = offers.find((one) => one.network === network);
      if (offer === undefined) throw new Error(`nothing is offered on ${network}`);
      expect(verifyReceiptMatchesOffer(receipt, offer, [chains[chain].buyer.address])).toBe(true);
      expect(payload.transaction).toBe(
        (decodeBase64Json(response.headers.get('payment-response') ?? '') as SettleResponse).transaction,
      );

      const again = await fetch(address, { headers: { 'payment-signature': proof } });
      expect(again.status).toBe(200);
      for (const header of ['payment-response', 'x-payment-response'])
        expect(again.headers.get(header)).toBe(response.headers.get(header));
    });
  },
);

describe('a paid call of the tool', () => {
  it('carries a receipt for the MCP endpoint', async () => {
    const payload = await buyers.base.createPaymentPayload(await termsOverMcp());
    const paid = await agent.callTool({
      name: 'search_leads',
      arguments: {},
      _meta: { 'x402/payment': payload },
    });
    const response = paid._meta?.['x402/payment-response'] as SettleResponse;
    const receipt = (response.extensions?.['offer-receipt'] as { info?: { receipt?: unknown } })?.info
      ?.receipt;
    expect(await verifyReceiptSignatureJWS(receipt as never)).toMatchObject({
      resourceUrl: `${gateway.url}/mcp`,
      transaction: response.transaction,
    });
  });
});

describe('crawlers', () => {
  it.each(['/.well-known/x402', '/.well-known/x402.json'])(
    'read at %s what is sold, from any page',
    async (path) => {
      const response = await gateway.call(path, { apiKey: null });
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toMatch(/^application\/json/);
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
      expect(response.headers.get('cache-control')).toBe('public, max-age=300');
      const manifest = (await response.json()) as { resources: string[]; items: { accepts: unknown[] }[] };
      expect(manifest.items.map(({ accepts }) => accepts)).toEqual([
        (await termsOverHttp('limit=1')).accepts,
        (await termsOverMcp()).accepts,
      ]);
      for (const address of manifest.resources) expect((await fetch(address)).status).toBe(402);
    },
  );

  it.each(['/.well-known/did.json', '/did.json'])(
    'read at %s the key of offers and receipts',
    async (path) => {
      const response = await gateway.call(path, { apiKey: null });
      expect(response.status).toBe(200);
      const { host } = new URL(gateway.url);
      expect(await response.json()).toMatchObject({ id: `did:web:${encodeURIComponent(host)}` });
    },
  );
});
