import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';
import { toClientEvmSigner } from '@x402/evm';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { UptoEvmScheme } from '@x402/evm/upto/client';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { createPublicClient, http } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { baseSepolia } from 'viem/chains';
import { expect } from 'vitest';
import { formatUsd } from '../../src/kit/money.ts';
import { createTestDatabase } from '../cli/test-database.ts';
import { startPaidSearch, type PaidSearch } from '../e2e/start-paid-search.ts';
import type { CallOptions } from '../e2e/start-test-gateway.ts';
import type { Meta, ToolResult } from '../mcp/clients.ts';
import { openAccount } from '../mcp/open-account.ts';
import { acceptToolsOf } from './accept-tools.ts';
import { mountYaml } from './mount-yaml.ts';

/** A wallet of its own, with the client of x402 that pays with it. */
export interface Wallet {
  /** As the store names it. */
  name: string;
  client: x402Client;
  /** The last proof that was sent over REST, as the text of its header. */
  proof: string;
}

export interface ToolSale extends Omit<PaidSearch, 'charged' | 'prove'> {
  /** A wallet on Base, which pays by this scheme. */
  openWallet(scheme?: 'exact' | 'upto'): Promise<Wallet>;
  /** The wallet of the buyer on Solana. */
  openSolanaWallet(): Promise<Wallet>;
  /** Calls a tool without a key. */
  ask(tool: string, input?: object, options?: CallOptions): Promise<Response>;
  /** Calls a tool as a stock client of x402 does, which pays when it is asked to. */
  pay(wallet: Wallet, tool: string, input?: object, headers?: Record<string, string>): Promise<Response>;
  /** Pays the terms of a tool's error, and returns the `_meta` with the proof. */
  prove(wallet: Wallet, unpaid: ToolResult): Promise<Meta>;
  /** How much the seller earns, in US dollars, while `work` runs. */
  charged(work: () => Promise<unknown>): Promise<string>;
  balanceOf(wallet: Wallet): Promise<string>;
  /** How often a tool has run. */
  runs(tool: string): number;
  /** Of an account with ten real dollars. */
  apiKey: string;
}

const program = fileURLToPath(new URL('shop-server.mjs', import.meta.url));

const rows = { rows: '/items', each: 0.001, max: 20 };
const prices = { work: 0.002, look: 0.003, fail: 0.05, die: 0.05, find: rows, tell: rows, strict: 0.05 };

const shop = {
  args: [program],
  env: ['RUNS_FILE'],
  prices: { ...prices, list: { ...rows, rows: '' } },
  harmless: ['look', 'list'],
};

/** The settings of a server whose tools are sold. It needs the variable RUNS_FILE. */
export const shopYaml = mountYaml({ shop });

export const toolPath = (tool: string): string => `/v1/tools/shop/${tool}`;

/** The engines of the store, with a database of this test's own; without PostgreSQL where no server answers. */
export const toolSaleEngines = async () => {
  const database = await createTestDatabase();
  const all: { engine: string; databaseUrl?: string }[] = [{ engine: 'SQLite' }];
  if (database !== null) all.push({ engine: 'PostgreSQL', databaseUrl: database.url });
  return { all, drop: async () => database?.drop() };
};

/**
 * A gateway that sells the tools of a mounted server to wallets on both local chains. `databaseUrl`: it is on PostgreSQL.
 * `accepted`: this tool alone is accepted. `settings`: more of the server.
 */
export const startToolSale = async ({
  databaseUrl,
  accepted,
  settings = {},
}: { databaseUrl?: string | undefined; accepted?: string; settings?: object } = {}): Promise<ToolSale> => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-shop-'));
  const runsFile = join(folder, 'runs');
  const sale = await startPaidSearch({
    yaml: mountYaml({ shop: { ...shop, ...settings } }),
    environment: {
      ...{ WALLET_ACCOUNTS: 'on', X402_HEADER_BYTES: '6000', RUNS_FILE: runsFile },
      PATH: process.env['PATH'] ?? '',
      ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
    },
  });
  const { gateway, chains } = sale;
  await acceptToolsOf(gateway.services, 'shop', accepted);
  const { apiKey } = await openAccount(gateway.services);

  const ask: ToolSale['ask'] = (tool, input = {}, options = {}) =>
    gateway.call(toolPath(tool), { apiKey: null, body: { arguments: input }, ...options });
  return {
    ...sale,
    apiKey,
    ask,
    openWallet: async (scheme = 'exact') => {
      const account = privateKeyToAccount(generatePrivateKey());
      await chains.base.mint(account.address, 1_000_000n);
      const reader = createPublicClient({ chain: baseSepolia, transport: http(chains.base.rpcUrl) });
      const client = new x402Client().register(
        'eip155:*',
        scheme === 'exact'
          ? new ExactEvmScheme(account)
          : new UptoEvmScheme(toClientEvmSigner(account, reader)),
      );
      return { name: `eip155:${account.address.toLowerCase()}`, client, proof: '' };
    },
    openSolanaWallet: async () => {
      const { buyer, rpcUrl } = chains.solana;
      const secret = Uint8Array.from(getBase58Encoder().encode(buyer.secretKeyBase58));
      const signer = await createKeyPairSignerFromBytes(secret);
      const client = new x402Client().register('solana:*', new ExactSvmScheme(signer, { rpcUrl }));
      return { name: `solana:${buyer.address}`, client, proof: '' };
    },
    pay: (wallet, tool, input = {}, headers = {}) => {
      const watched: typeof fetch = async (target, init) => {
        const request = new Request(target, init);
        wallet.proof = request.headers.get('payment-signature') ?? wallet.proof;
        return fetch(request);
      };
      return wrapFetchWithPayment(watched, wallet.client)(gateway.url + toolPath(tool), {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ arguments: input }),
      });
    },
    prove: async ({ client }, unpaid) => {
      expect(unpaid.isError).toBe(true);
      const terms = unpaid._meta['x402/error'] as Parameters<typeof client.createPaymentPayload>[0];
      return { 'x402/payment': await client.createPaymentPayload(terms) };
    },
    charged: async (work) => {
      const units = await sale.charged(async () => void (await work()));
      return formatUsd(units * 1_000n);
    },
    balanceOf: async ({ name }) => {
      const account = await gateway.services.store.findWalletAccount({ wallet: name, isSandbox: true });
      return formatUsd(account?.available ?? 0n);
    },
    runs: (tool) =>
      existsSync(runsFile)
        ? readFileSync(runsFile, 'utf8')
            .split('\n')
            .filter((line) => line === tool).length
        : 0,
    stop: async () => {
      await sale.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
