import { createTestClient, http } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { z } from 'zod';
import { silentLog } from '../../../src/kit/log.ts';
import { systemClock } from '../../../src/kit/clock.ts';
import { parseProof, paymentIdentity } from '../../../src/payments/wire/parse-proof.ts';
import type { PayableNetwork } from '../../../src/payments/chains/payment-methods.ts';
import { createX402Gate, type X402Gate } from '../../../src/payments/sale/gate.ts';
import type { Payment, Store } from '../../../src/store/store.ts';
import { startChains, type Chains } from '../../chains/start-chains.ts';
import { createBuyer, type ChainName } from '../support/buyer.ts';
import { startFacilitatorServer, type FacilitatorServer } from '../support/facilitator-server.ts';
import { overRest, price, priceUnits } from '../support/gate-fixture.ts';
import type { StoreKind } from '../../store/open-store-at.ts';
import { testEngines } from '../../store/open-test-store.ts';
import type { PayOrder } from './gate-commands.ts';
import { startGate, type GateChild } from './start-gate.ts';
import { watchRequests } from './steps.ts';
import { describeSale } from '../wire/sale.ts';

export interface SiteOptions {
  chain: ChainName;
  engine: StoreKind;
  facilitator: 'local' | 'remote';
  /** Payments raise the balances of the wallets that pay. */
  isCredit?: boolean;
}

/** A proof of a buyer of its own, whose balance therefore tells how often this proof was charged. */
export interface Purchase extends PayOrder {
  identity: string;
  buyer: string;
}

/** Where gates die: one store, the local chains, and what can be seen of both from outside. */
export interface CrashSite {
  chains: Chains;
  store: Store;
  /** As a gate of this process would offer them, each time with an account of its own to settle from. */
  createNetworks(): Promise<PayableNetwork[]>;
  createPurchase(sale: string, networks: PayableNetwork[]): Promise<Purchase>;
  /** In a process of its own. */
  startGate(): GateChild;
  payment(purchase: Purchase): Promise<Payment | null>;
  /** How often the proof was credited to its buyer; null where it buys an answer alone. */
  creditsOf(purchase: Purchase): Promise<number | null>;
  /** How often the proof was charged. */
  chargesOf(purchase: Purchase): Promise<number>;
  /** Whether the chain shows that this transaction moved the buyer's money to the seller. */
  isPaidBy(transaction: string, purchase: Purchase): Promise<boolean>;
  /** Ends the turns to send that dead processes have, as time would. */
  endTurns(purchases: readonly Purchase[]): Promise<void>;
  /** Lets every proof run out that was made so far. Ones that are made later may be useless at once. */
  expireProofs(): Promise<void>;
  close(): Promise<void>;
}

/** Enough for a proof to be charged three times. */
const funds = 3n * priceUnits;
/** Longer than any turn. */
const turnsOverMs = 3_600_000;
const gasFunds = 10n ** 18n;
const transferEvent = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
/** More than the life of a proof and what is waited beyond it. */
const proofLifeSeconds = 600;

const askNode = async (url: string, method: string, params: unknown[]): Promise<unknown> => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(60_000),
  });
  return z.object({ result: z.unknown() }).parse(await response.json()).result;
};

const baseReceipt = z.object({
  status: z.string(),
  logs: z.array(z.object({ topics: z.array(z.string()), data: z.string() })),
});
const solanaTransaction = z.object({
  meta: z.object({ err: z.unknown(), postTokenBalances: z.array(z.object({ owner: z.string() })) }),
});

const isPaidOnBase = async ({ base }: Chains, transaction: string, buyer: string): Promise<boolean> => {
  const found = await askNode(base.rpcUrl, 'eth_getTransactionReceipt', [transaction]);
  const receipt = baseReceipt.nullable().parse(found);
  const toTopic = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
  const transfer = [transferEvent, toTopic(buyer), toTopic(base.seller.address)].join();
  return (
    receipt?.status === '0x1' &&
    receipt.logs.some(({ topics, data }) => topics.join() === transfer && BigInt(data) === priceUnits)
  );
};

const isPaidOnSolana = async ({ solana }: Chains, transaction: string, buyer: string): Promise<boolean> => {
  const config = { encoding: 'json', maxSupportedTransactionVersion: 0, commitment: 'confirmed' };
  const found = solanaTransaction
    .nullable()
    .parse(await askNode(solana.rpcUrl, 'getTransaction', [transaction, config]));
  if (found === null || found.meta.err !== null) return false;
  const owners = found.meta.postTokenBalances.map(({ owner }) => owner);
  return owners.includes(buyer) && owners.includes(solana.seller.address);
};

const createFundedKey = async ({ base }: Chains): Promise<string> => {
  const privateKey = generatePrivateKey();
  const client = createTestClient({ mode: 'anvil', transport: http(base.rpcUrl) });
  await client.setBalance({ address: privateKeyToAddress(privateKey), value: gasFunds });
  return privateKey;
};

const createNetwork = async (
  chains: Chains,
  chain: ChainName,
  server: FacilitatorServer | null,
): Promise<PayableNetwork> => {
  const { network, rpcUrl, seller } = chains[chain];
  const terms = { network, payTo: seller.address };
  if (server !== null)
    return {
      ...terms,
      facilitator: { kind: 'remote', endpoints: [{ url: server.url, cdpKey: null }], rpcUrl },
    };
  const privateKey =
    chain === 'base' ? await createFundedKey(chains) : chains.solana.facilitator.secretKeyBase58;
  return { ...terms, facilitator: { kind: 'local', rpcUrl, privateKey } };
};

export const openCrashSite = async ({
  chain,
  engine,
  facilitator,
  isCredit = false,
}: SiteOptions): Promise<CrashSite> => {
  const found = testEngines().find(({ kind }) => kind === engine);
  if (found === undefined) throw new Error(`there is no ${engine}`);
  const chains = await startChains();
  const server = facilitator === 'remote' ? await startFacilitatorServer(chains) : null;
  const data = await found.create();
  const { store } = data;
  const place = { kind: engine, location: data.location };
  const unwatch = watchRequests();
  const createNetworks = async () => [await createNetwork(chains, chain, server)];
  const seller: X402Gate = createX402Gate({
    store,
    networks: await createNetworks(),
    sales: [describeSale()],
    publicUrl: () => 'https://leads.example',
    clock: systemClock,
    log: silentLog,
    owner: 'seller',
  });
  await seller.warmUp();
  const balanceOf = (address: string): Promise<bigint> =>
    chain === 'base' ? chains.base.balanceOf(`0x${address.slice(2)}`) : chains.solana.balanceOf(address);
  /** On Base without a transaction of its own, of which there would be hundreds. */
  const fund = async (address: string): Promise<void> => {
    if (chain === 'solana') return chains.solana.mint(address, funds);
    const { rpcUrl, usdc } = chains.base;
    await askNode(rpcUrl, 'anvil_dealERC20', [address, usdc, `0x${funds.toString(16)}`]);
  };

  return {
    chains,
    store,
    createNetworks,
    createPurchase: async (sale, networks) => {
      const buyer = await createBuyer(chains, true);
      await fund(buyer.addresses[chain]);
      const proofs = await buyer.prove(seller.challenge({ price, ...overRest }), chain);
      const identity = await paymentIdentity(parseProof(proofs));
      return { networks, proofs, sale, isCredit, identity, buyer: buyer.addresses[chain] };
    },
    startGate: () => startGate(place),
    payment: ({ identity }) => store.getPayment(identity),
    creditsOf: async ({ buyer }) => {
      if (!isCredit) return null;
      const wallet = chain === 'base' ? `eip155:${buyer.toLowerCase()}` : `solana:${buyer}`;
      const account = await store.findWalletAccount({ wallet, isSandbox: true });
      return Number(account?.available ?? 0n) / Number(price);
    },
    chargesOf: async ({ buyer }) => Number(funds - (await balanceOf(buyer))) / Number(priceUnits),
    isPaidBy: (transaction, { buyer }) =>
      chain === 'base'
        ? isPaidOnBase(chains, transaction, buyer)
        : isPaidOnSolana(chains, transaction, buyer),
    endTurns: async (purchases) => {
      const now = Date.now();
      for (const { network, facilitator } of purchases.flatMap(({ networks }) => networks)) {
        if (chain === 'solana' || facilitator.kind === 'remote') continue;
        const address = privateKeyToAddress(`0x${facilitator.privateKey.slice(2)}`);
        const sender = `${network}:${address.toLowerCase()}`;
        await store.takeAccountLease({ sender, owner: 'time', until: now, now: now + turnsOverMs });
        await store.endAccountLease({ sender, owner: 'time' });
      }
    },
    expireProofs: async () => {
      await chains.base.controls.advanceSeconds(proofLifeSeconds);
      chains.solana.controls.expireBlockhash();
    },
    close: async () => {
      unwatch();
      await seller.close();
      await server?.stop();
      await data.remove();
      await chains.stop();
    },
  };
};
