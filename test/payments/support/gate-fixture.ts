import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../src/kit/clock.ts';
import { AppError } from '../../../src/kit/errors.ts';
import { sha256 } from '../../../src/kit/ids.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { parseUsd } from '../../../src/kit/money.ts';
import type { PayableNetwork } from '../../../src/payments/chains/payment-methods.ts';
import {
  createX402Gate,
  type SoldOutcome,
  type AnswerOrder,
  type Proofs,
  type X402Gate,
  type X402GateOptions,
} from '../../../src/payments/sale/gate.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { startChains, type Chains } from '../../chains/start-chains.ts';
import { layStore } from '../../data-template.ts';
import { describeSale, overMcp, overRest } from '../wire/sale.ts';

import { createBuyer, type Buyer, type ChainName } from './buyer.ts';

export { overMcp, overRest };

export const price = parseUsd('0.10');
/** $0.10 in the smallest unit of USDC. */
export const priceUnits = 100_000n;

export interface GateFixture {
  chains: Chains;
  store: Store;
  buyer: Buyer;
  /** A gate over the same store, as after a restart; in-process facilitators unless told otherwise. */
  openGate(options?: Partial<X402GateOptions>): X402Gate;
  localNetworks: PayableNetwork[];
  balances(chain: ChainName): Promise<{ buyer: bigint; seller: bigint }>;
  /** A buyer with keys of its own and so much USDC on both chains. */
  createBuyer(amount: bigint): Promise<Buyer>;
  close(): Promise<void>;
}

/** Both local chains, a funded buyer and a real store in a folder of its own. */
export const startGateFixture = async (): Promise<GateFixture> => {
  const chains = await startChains();
  const { base, solana } = chains;
  const dataDir = await mkdtemp(join(tmpdir(), 'causeway-x402-'));
  const store = await openSqliteStore({ file: layStore(join(dataDir, 'store.sqlite')), inThisThread: true });
  await base.mint(base.buyer.address, 1_000_000_000n);
  await solana.mint(solana.buyer.address, 1_000_000_000n);
  const localNetworks: PayableNetwork[] = [
    {
      network: base.network,
      payTo: base.seller.address,
      facilitator: { kind: 'local', rpcUrl: base.rpcUrl, privateKey: base.facilitator.privateKey },
    },
    {
      network: solana.network,
      payTo: solana.seller.address,
      facilitator: {
        kind: 'local',
        rpcUrl: solana.rpcUrl,
        privateKey: solana.facilitator.secretKeyBase58,
      },
    },
  ];
  const gates: X402Gate[] = [];
  const balanceOf = (chain: ChainName, address: string): Promise<bigint> =>
    chain === 'base' ? base.balanceOf(`0x${address.slice(2)}`) : solana.balanceOf(address);
  return {
    chains,
    store,
    buyer: await createBuyer(chains),
    localNetworks,
    openGate: (options) => {
      const gate = createX402Gate({
        store,
        networks: localNetworks,
        sales: [describeSale()],
        publicUrl: () => 'https://leads.example',
        clock: systemClock,
        log: silentLog,
        owner: randomUUID(),
        ...options,
      });
      gates.push(gate);
      return gate;
    },
    balances: async (chain) => ({
      buyer: await balanceOf(chain, chains[chain].buyer.address),
      seller: await balanceOf(chain, chains[chain].seller.address),
    }),
    createBuyer: async (amount) => {
      const buyer = await createBuyer(chains, true);
      await base.mint(buyer.addresses.base, amount);
      await solana.mint(buyer.addresses.solana, amount);
      return buyer;
    },
    close: async () => {
      await Promise.all(gates.map((gate) => gate.close()));
      await store.close();
      await chains.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};

export interface Sale {
  /** How often the result was made. */
  readonly produced: number;
  request(proofs: Proofs | null, changes?: Partial<AnswerOrder>): AnswerOrder;
}

/** One search for sale, that counts how often it ran. */
export const createSale = (name: string): Sale => {
  let produced = 0;
  return {
    get produced() {
      return produced;
    },
    request: (proofs, changes) => ({
      price,
      ...overRest,
      proofs,
      requestHash: sha256(name),
      client: '203.0.113.7',
      produce: () => {
        produced += 1;
        return Promise.resolve(JSON.stringify({ results: [name], count: produced }));
      },
      signal: new AbortController().signal,
      ...changes,
    }),
  };
};

/** The outcome as one that was served; throws when it is not. */
export const served = (outcome: SoldOutcome): Extract<SoldOutcome, { outcome: 'served' }> => {
  if (outcome.outcome === 'served') return outcome;
  throw new Error(`unpaid: ${outcome.challenge.body.error}`);
};

/** The outcome as one that was refused; throws when it is not. */
export const unpaid = (outcome: SoldOutcome): Extract<SoldOutcome, { outcome: 'unpaid' }> => {
  if (outcome.outcome === 'unpaid') return outcome;
  throw new Error('served');
};

/** The code of the AppError that `work` ends in. */
export const codeOf = async (work: Promise<unknown>): Promise<string> => {
  const error = await refusalOf(work);
  return error.code;
};

/** The AppError that `work` ends in. */
export const refusalOf = async (work: Promise<unknown>): Promise<AppError> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('it was not refused');
};

/** For what does not land. Its calls of the node have their usual time, so a busy machine changes no outcome. */
export const hasty = { settleMs: 1_200 };

const maxTries = 30;

/** Pays until something was sent whose outcome is unknown: a hasty gate may give up before it has sent anything. */
export const untilPending = async (pay: () => Promise<SoldOutcome>): Promise<AppError> => {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const refusal = await refusalOf(pay());
    if (refusal.code === 'payment_pending') return refusal;
    if (refusal.code !== 'payment_unavailable') throw refusal;
  }
  throw new Error('the payment was not sent');
};

/** Pays until there is an end: a hasty gate may give up before the chain has one. */
export const payAtLast = async (gate: X402Gate, request: AnswerOrder): Promise<SoldOutcome> => {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const outcome = await gate.sellAnswer(request).catch((error: unknown) => {
      if (error instanceof AppError && /^payment_(?:pending|unavailable)$/.test(error.code)) return null;
      throw error;
    });
    if (outcome !== null) return outcome;
  }
  throw new Error('the payment came to no end');
};
