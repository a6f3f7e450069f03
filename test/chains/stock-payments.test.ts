import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';
import { x402Client } from '@x402/core/client';
import { x402Facilitator } from '@x402/core/facilitator';
import type { PaymentRequired, PaymentRequirements } from '@x402/core/types';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { ExactEvmScheme as EvmClientScheme } from '@x402/evm/exact/client';
import { ExactEvmScheme as EvmFacilitatorScheme } from '@x402/evm/exact/facilitator';
import { toFacilitatorSvmSigner } from '@x402/svm';
import { ExactSvmScheme as SvmClientScheme } from '@x402/svm/exact/client';
import { ExactSvmScheme as SvmFacilitatorScheme } from '@x402/svm/exact/facilitator';
import { createWalletClient, http, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { baseSepolia } from 'viem/chains';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BaseChain } from './base-chain.ts';
import type { SolanaChain } from './solana-chain.ts';
import { startChains, type Chains } from './start-chains.ts';

const price = 100_000n;

const challengeFor = (terms: PaymentRequirements): PaymentRequired => ({
  x402Version: 2,
  resource: { url: 'http://127.0.0.1/v1/search', description: 'A search', mimeType: 'application/json' },
  accepts: [terms],
});

const baseTerms = (chain: BaseChain): PaymentRequirements => ({
  scheme: 'exact',
  network: chain.network,
  asset: chain.usdc,
  amount: String(price),
  payTo: chain.seller.address,
  maxTimeoutSeconds: 300,
  extra: { name: 'USDC', version: '2' },
});

const solanaTerms = (chain: SolanaChain): PaymentRequirements => ({
  scheme: 'exact',
  network: chain.network,
  asset: chain.usdc,
  amount: String(price),
  payTo: chain.seller.address,
  maxTimeoutSeconds: 60,
  extra: { feePayer: chain.facilitator.address },
});

const baseClient = (chain: BaseChain): x402Client =>
  new x402Client().register(
    'eip155:*',
    new EvmClientScheme(privateKeyToAccount(chain.buyer.privateKey), { rpcUrl: chain.rpcUrl }),
  );

type EvmSignerClient = Parameters<typeof toFacilitatorEvmSigner>[0];

const baseFacilitator = (chain: BaseChain): x402Facilitator => {
  const account = privateKeyToAccount(chain.facilitator.privateKey);
  const client = createWalletClient({
    account,
    chain: baseSepolia,
    transport: http(chain.rpcUrl),
    pollingInterval: 20,
  }).extend(publicActions);
  // The package's types of a client are looser than viem's own, which it is documented to take.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const signer = toFacilitatorEvmSigner({
    ...client,
    address: account.address,
  } as unknown as EvmSignerClient);
  return new x402Facilitator().register([chain.network], new EvmFacilitatorScheme(signer));
};

const signerFor = (key: { secretKeyBase58: string }) =>
  createKeyPairSignerFromBytes(getBase58Encoder().encode(key.secretKeyBase58));

const solanaClient = async (chain: SolanaChain): Promise<x402Client> =>
  new x402Client().register(
    'solana:*',
    new SvmClientScheme(await signerFor(chain.buyer), { rpcUrl: chain.rpcUrl }),
  );

const solanaFacilitator = async (chain: SolanaChain): Promise<x402Facilitator> => {
  const signer = toFacilitatorSvmSigner(await signerFor(chain.facilitator), { defaultRpcUrl: chain.rpcUrl });
  return new x402Facilitator().register([chain.network], new SvmFacilitatorScheme(signer));
};

describe('the unmodified x402 packages on the local chains', () => {
  let chains: Chains;

  beforeAll(async () => {
    chains = await startChains();
    await Promise.all([
      chains.base.mint(chains.base.buyer.address, 10_000_000n),
      chains.solana.mint(chains.solana.buyer.address, 10_000_000n),
    ]);
  });
  afterAll(() => chains.stop());

  it('pay on Base', async () => {
    const chain = chains.base;
    const terms = baseTerms(chain);
    const facilitator = baseFacilitator(chain);
    const payload = await baseClient(chain).createPaymentPayload(challengeFor(terms));

    expect(await facilitator.verify(payload, terms)).toMatchObject({
      isValid: true,
      payer: chain.buyer.address,
    });
    const settled = await facilitator.settle(payload, terms);

    expect(settled).toMatchObject({ success: true, network: chain.network });
    expect(settled.transaction).toMatch(/^0x[0-9a-f]{64}$/);
    expect(await chain.balanceOf(chain.seller.address)).toBe(price);
    expect(await facilitator.verify(payload, terms)).toMatchObject({ isValid: false });
  });

  it('pay on Solana', async () => {
    const chain = chains.solana;
    const terms = solanaTerms(chain);
    const facilitator = await solanaFacilitator(chain);
    const payload = await (await solanaClient(chain)).createPaymentPayload(challengeFor(terms));

    expect(await facilitator.verify(payload, terms)).toMatchObject({
      isValid: true,
      payer: chain.buyer.address,
    });
    const settled = await facilitator.settle(payload, terms);

    expect(settled).toMatchObject({ success: true, network: chain.network });
    expect(await chain.balanceOf(chain.seller.address)).toBe(price);
    expect(await facilitator.verify(payload, terms)).toMatchObject({ isValid: false });
  });

  it.each([
    ['Base', () => baseTerms(chains.base), () => baseFacilitator(chains.base), () => baseClient(chains.base)],
    [
      'Solana',
      () => solanaTerms(chains.solana),
      () => solanaFacilitator(chains.solana),
      () => solanaClient(chains.solana),
    ],
  ] as const)('refuse a payment of less than the price on %s', async (_name, terms, facilitator, client) => {
    const cheap = { ...terms(), amount: String(price - 1n) };
    const payload = await (await client()).createPaymentPayload(challengeFor(cheap));
    const underPrice = { ...payload, accepted: terms() };
    expect(await (await facilitator()).verify(underPrice, terms())).toMatchObject({ isValid: false });
  });
});
