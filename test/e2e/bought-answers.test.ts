import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { evmFamily } from '../../src/payments/chains/evm/evm-family.ts';
import { solanaFamily } from '../../src/payments/chains/solana/solana-family.ts';
import { localEvmKeys } from '../chains/local-keys.ts';
import { openAccount } from '../mcp/open-account.ts';
import { createOperatorClient } from '../operator/operator-client.ts';
import { searchPrice, startPaidSearch, type PaidSearch } from './start-paid-search.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let seller: PaidSearch;
let wallets: Record<string, string>;

beforeAll(async () => {
  seller = await startPaidSearch({ environment: { WALLET_ACCOUNTS: 'on' } });
  const { base, solana } = seller.chains;
  const [evm, svm] = await Promise.all([evmFamily.createWallet(), solanaFamily.createWallet()]);
  await base.mint(evm.address as `0x${string}`, 10n * searchPrice);
  await solana.mint(svm.address, 10n * searchPrice);
  // A seller needs a token account.
  await solana.mint(solana.facilitator.address, 0n);
  wallets = {
    EVM_WALLET: String(Reflect.get(evm, 'privateKey')),
    SOLANA_WALLET: String(Reflect.get(svm, 'secretKey')),
  };
});

afterAll(() => seller.stop());

describe.each(['base', 'solana'] as const)('a gateway that buys from another one on %s', (chain) => {
  let reseller: TestGateway;

  beforeAll(async () => {
    const { chains, gateway } = seller;
    const pay = `{ x402: { wallet_env: [EVM_WALLET, SOLANA_WALLET], max_usd_per_call: "0.50", max_usd_per_day: "1", networks: ["${chains[chain].network}"] } }`;
    reseller = await startTestGateway({
      environment: {
        ...chains.environment,
        ...wallets,
        // The accounts of the seller, whose nonces are kept by its own store.
        X402_EVM_FACILITATOR_KEY: localEvmKeys.deployer.privateKey,
        X402_EVM_PAY_TO: localEvmKeys.facilitator.address,
        X402_SOLANA_PAY_TO: chains.solana.facilitator.address,
        LEADS_SOURCES: 'http',
        // A busy machine settles a payment late.
        LEADS_TIMEOUT_MS: '60000',
        SEARCH_PRICING: 'flat',
        ALLOW_LOOPBACK_URLS: 'true',
      },
      yaml: `
leads:
  http:
    url: "${gateway.url}/v1/search"
    parameters: { query: "{query}", limit: "{limit}" }
    results: /results
    pay: ${pay}
providers:
  other: { type: openai, base_url: "${gateway.url}/v1", pay: ${pay} }
models:
  bought-image:
    kind: image
    price: { unit: call, price_usd: "0.06" }
    routes: [{ provider: other, model: imagemodel-1.0 }]
`,
    });
  });

  afterAll(() => reseller.stop());

  const createWallet = async (): Promise<x402Client> => {
    const { base, solana } = seller.chains;
    const client = new x402Client();
    if (chain === 'base')
      return client.register(base.network, new ExactEvmScheme(privateKeyToAccount(base.buyer.privateKey)));
    const secretKey = Uint8Array.from(getBase58Encoder().encode(solana.buyer.secretKeyBase58));
    const signer = await createKeyPairSignerFromBytes(secretKey);
    return client.register(solana.network, new ExactSvmScheme(signer, { rpcUrl: solana.rpcUrl }));
  };

  it('sells leads and images that it bought, and tells its operator the margin', async () => {
    const paying = wrapFetchWithPayment(fetch, await createWallet());
    const client = await createOperatorClient(reseller);
    const { apiKey } = await openAccount(reseller.services);
    const charged = await seller.charged(async () => {
      const found = await paying(`${reseller.url}/v1/search?query=travel&limit=3`);
      expect(found.status).toBe(200);
      const { count } = (await found.json()) as { count: number };
      expect(count).toBe(3);
      const made = await reseller.call('/v1/images/generations', {
        apiKey,
        body: { model: 'bought-image', prompt: 'a boat' },
      });
      expect(await made.json()).toMatchObject({ status: 'done' });
    });
    expect(charged).toBe(searchPrice + 40_000n);
    const { body } = await client.get('/bought-payments');
    expect(body).toMatchObject({
      operations: [
        { operation: 'image', payments: 1, bought_usd: '0.04', sold_usd: '0.06', margin_usd: '0.02' },
        { operation: 'search_leads', payments: 1, bought_usd: '0.10', sold_usd: '0.50', margin_usd: '0.40' },
      ],
      upstreams: [
        { upstream: 'providers.other', spent_today_usd: '0.04', max_usd_per_day: '1.00' },
        { upstream: 'leads.http', spent_today_usd: '0.10' },
      ],
      payments: [
        { state: 'answered', upstream: 'providers.other', transaction: expect.any(String) },
        { state: 'answered', upstream: 'leads.http', transaction: expect.any(String) },
      ],
    });
  });

  it('is paid for leads that it buys when their buyer hangs up', async () => {
    const { store } = reseller.services;
    const leaving = new AbortController();
    const hearing: typeof fetch = (input, init) =>
      fetch(new Request(input, init), { signal: leaving.signal });
    const paying = wrapFetchWithPayment(hearing, await createWallet());
    const bought = () => store.listBoughtPayments({ before: null, limit: 10 });
    const known = (await bought()).length;
    const asked = paying(`${reseller.url}/v1/search?query=food&limit=3`);
    await vi.waitUntil(async () => (await bought()).length === known + 1, { timeout: 60_000, interval: 5 });
    leaving.abort();
    await expect(asked).rejects.toThrow('aborted');
    const settledAt = async () => (await store.listPayments({ limit: 1 }))[0]?.settledAt ?? null;
    await vi.waitUntil(async () => (await settledAt()) !== null, { timeout: 60_000 });
    expect(await bought()).toMatchObject([{ state: 'answered' }, {}, {}]);
  });
});
