import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { x402Client, x402HTTPClient } from '@x402/core/client';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import type { Address, Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { systemClock } from '../../../src/kit/clock.ts';
import { silentLog } from '../../../src/kit/log.ts';
import type { PayableNetwork } from '../../../src/payments/chains/payment-methods.ts';
import {
  createX402Gate,
  type Challenge,
  type Proofs,
  type X402Gate,
  type X402GateOptions,
} from '../../../src/payments/sale/gate.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { startBnbChain, type BnbChain } from '../../chains/bnb-chain.ts';
import { layStore } from '../../data-template.ts';
import { describeSale } from '../wire/sale.ts';

/** $0.10 in the smallest unit of BNB Chain's USDC. */
export const bnbPriceUnits = 10n ** 17n;

export interface BnbBuyer {
  address: Address;
  privateKey: Hex;
  client: x402Client;
  prove(challenge: Challenge): Promise<Proofs>;
}

export interface BnbFixture {
  chain: BnbChain;
  store: Store;
  network: PayableNetwork;
  /** A gate over the same store, as after a restart. */
  openGate(options?: Partial<X402GateOptions>): X402Gate;
  /** A new buyer with so much USDC (default: 10), that lets Permit2 take so much of it (default: all). */
  createBuyer(options?: { amount?: bigint; allowance?: bigint }): Promise<BnbBuyer>;
  close(): Promise<void>;
}

const tenUsd = 10n ** 19n;

/** The local BNB Chain with an in-process facilitator, and a real store in a folder of its own. */
export const startBnbFixture = async (): Promise<BnbFixture> => {
  const chain = await startBnbChain();
  const dataDir = await mkdtemp(join(tmpdir(), 'causeway-bnb-'));
  const store = await openSqliteStore({ file: layStore(join(dataDir, 'store.sqlite')), inThisThread: true });
  const gates: X402Gate[] = [];
  const network: PayableNetwork = {
    network: chain.network,
    payTo: chain.seller.address,
    facilitator: { kind: 'local', rpcUrl: chain.rpcUrl, privateKey: chain.facilitator.privateKey },
  };
  return {
    chain,
    store,
    network,
    openGate: (options) => {
      const gate = createX402Gate({
        store,
        networks: [network],
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
    createBuyer: async ({ amount = tenUsd, allowance } = {}) => {
      const privateKey = generatePrivateKey();
      const owner = privateKeyToAccount(privateKey);
      if (amount > 0n) await chain.mint(owner.address, amount);
      if (allowance !== 0n) await chain.allowPermit2({ privateKey }, allowance);
      // Its default spend controls know no token of BNB Chain.
      const client = new x402Client()
        .register(chain.network, new ExactEvmScheme(owner))
        .setSpendControls({ allowedAssets: true });
      const http = new x402HTTPClient(client);
      return {
        address: owner.address,
        privateKey,
        client,
        prove: async (challenge) => {
          const required = http.getPaymentRequiredResponse(
            (name) => (name.toLowerCase() === 'payment-required' ? challenge.header : null),
            challenge.body,
          );
          const headers = http.encodePaymentSignatureHeader(await http.createPaymentPayload(required));
          return { paymentSignature: headers['PAYMENT-SIGNATURE'] };
        },
      };
    },
    close: async () => {
      await Promise.all(gates.map((gate) => gate.close()));
      await store.close();
      await chain.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};
