import { vi } from 'vitest';
import { parseUsd } from '../../src/kit/money.ts';
import { startChains, type Chains } from '../chains/start-chains.ts';
import { createBuyer, type ChainName } from '../payments/support/buyer.ts';
import {
  startTestGateway,
  whenSearchReady,
  type TestGateway,
  type TestGatewayOptions,
} from './start-test-gateway.ts';
import { overRest } from '../payments/wire/sale.ts';

export interface PaidSearch {
  chains: Chains;
  gateway: TestGateway;
  /** A new proof for a search of up to 20 results, as the text of a header; by default v2 on Base. */
  prove(version?: 1 | 2, chain?: ChainName): Promise<string>;
  /** What the seller has on both chains together, in the smallest unit of USDC. */
  earned(): Promise<bigint>;
  /** How much more that is after `work`. */
  charged(work: () => Promise<void>): Promise<bigint>;
  stop(): Promise<void>;
}

/** Of a search of up to 20 results, in the smallest unit of USDC. */
export const searchPrice = 100_000n;
const buyerFunds = 1_000n * searchPrice;

/** A gateway that sells the search on both local chains, and a buyer with money on both. */
export const startPaidSearch = async (options: TestGatewayOptions = {}): Promise<PaidSearch> => {
  const chains = await startChains();
  const { base, solana } = chains;
  await base.mint(base.buyer.address, buyerFunds);
  await solana.mint(solana.buyer.address, buyerFunds);
  const buyer = await createBuyer(chains);
  const gateway = await startTestGateway({
    ...options,
    environment: { ...chains.environment, SEARCH_RATE_PER_MINUTE: '10000', ...options.environment },
  });
  const { x402 } = gateway.services;
  await whenSearchReady(gateway);
  await vi.waitUntil(() => x402.status().every(({ ready }) => ready), { timeout: 60_000 });
  const earned = async (): Promise<bigint> =>
    (await base.balanceOf(base.seller.address)) + (await solana.balanceOf(solana.seller.address));
  return {
    chains,
    gateway,
    prove: async (version = 2, chain = 'base') => {
      const challenge = x402.challenge({ price: parseUsd('0.10'), ...overRest });
      const { paymentSignature, xPayment } = await buyer.prove(challenge, chain, version);
      const proof = version === 2 ? paymentSignature : xPayment;
      if (proof === undefined) throw new Error(`the client signed no proof of version ${version}`);
      return proof;
    },
    earned,
    charged: async (work) => {
      const before = await earned();
      await work();
      return (await earned()) - before;
    },
    stop: async () => {
      await gateway.stop();
      await chains.stop();
    },
  };
};
