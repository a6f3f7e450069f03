import { randomBytes } from 'node:crypto';
import {
  createWalletClient,
  http,
  pad,
  parseTransaction,
  toFunctionSelector,
  type Address,
  type Hex,
} from 'viem';
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from 'viem/accounts';
import { baseSepolia } from 'viem/chains';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { encodeBase64Json } from '../../../src/payments/chains/core/wire.ts';
import { createJsonRpc } from '../../../src/payments/chains/core/json-rpc.ts';
import type { Challenge, Proofs, X402Gate } from '../../../src/payments/sale/gate.ts';
import { createSpender } from '../support/spender.ts';
import { answeringContract } from '../../chains/answering-contract.ts';
import {
  codeOf,
  createSale,
  overRest,
  price,
  priceUnits,
  refusalOf,
  served,
  startGateFixture,
  unpaid,
  type GateFixture,
} from '../support/gate-fixture.ts';

const selector = toFunctionSelector('isValidSignature(bytes32,bytes)');
/** Agrees to whatever is said to be signed. */
const agreeing = answeringContract({ [selector]: pad(selector, { dir: 'right', size: 32 }) });
/** JUMPDEST PUSH0 JUMP: runs until its gas is used up. */
const burning = '0x5b5f56';
const hourMs = 3_600_000;

let fixture: GateFixture;
let challenge: Challenge;
let gate: X402Gate;
/** By how much its clock is ahead. */
let aheadMs = 0;
beforeAll(async () => {
  fixture = await startGateFixture();
});
beforeEach(() => {
  aheadMs = 0;
  gate = fixture.openGate({ clock: { now: () => Date.now() + aheadMs } });
  challenge = gate.challenge({ price, ...overRest });
});
afterEach(async () => {
  fixture.chains.base.controls.clearFaults();
  await fixture.chains.base.controls.setAutomine(true);
});
afterAll(() => fixture?.close());

interface Wallet {
  /** A new payment. */
  prove(): Proofs;
  become(code: Hex): Promise<void>;
}

/** A wallet of code, with money for some payments. */
const createWallet = async (): Promise<Wallet> => {
  const { base } = fixture.chains;
  const from: Address = privateKeyToAddress(generatePrivateKey());
  const become = (code: Hex): Promise<void> => base.controls.setCode(from, code);
  await become(agreeing);
  await base.mint(from, 10n * priceUnits);
  return {
    become,
    prove: () => {
      const [accepted] = challenge.paymentRequired.accepts;
      const authorization = {
        from,
        to: accepted?.payTo,
        value: accepted?.amount,
        validAfter: '0',
        validBefore: String(Math.floor(Date.now() / 1000) + 300),
        nonce: `0x${randomBytes(32).toString('hex')}`,
      };
      const payload = { signature: `0x${'11'.repeat(100)}`, authorization };
      return { paymentSignature: encodeBase64Json({ x402Version: 2, accepted, payload }) };
    },
  };
};

const pay = (name: string, proofs: Proofs) => gate.sellAnswer(createSale(name).request(proofs));
const sends = (): number => fixture.chains.base.controls.callCount('eth_sendRawTransaction');

/** Agrees until the settlement is on its way, and burns its gas then; the hash of what was reverted. */
const cheat = async (wallet: Wallet, name: string, proofs: Proofs): Promise<string> => {
  const held = fixture.chains.base.controls.inject({
    fault: 'hold',
    methods: ['eth_sendRawTransaction'],
    times: 1,
  });
  const paying = refusalOf(pay(name, proofs));
  await held.waitForHit();
  await wallet.become(burning);
  held.remove();
  const { code, headers } = await paying;
  expect(code).toBe('payment_pending');
  return headers['x-payment-transaction'] ?? '';
};

const receiptOf = (hash: string): Promise<unknown> =>
  createJsonRpc({ url: fixture.chains.base.rpcUrl, timeoutMs: 5_000 }).request(
    'eth_getTransactionReceipt',
    [hash],
    new AbortController().signal,
  );

describe('a payer whose wallet is a contract', () => {
  it('pays like everybody', async () => {
    const before = (await fixture.balances('base')).seller;
    const wallet = await createWallet();
    served(await pay('one', wallet.prove()));
    served(await pay('two', wallet.prove()));
    expect((await fixture.balances('base')).seller).toBe(before + 2n * priceUnits);
  });

  it('is refused when its wallet sees at what price it is run, and agrees to be run for nothing alone', async () => {
    const wallet = await createWallet();
    // GASPRICE PUSH1 8 JUMPI, then the magic value; at 8 it burns.
    await wallet.become('0x3a601857631626ba7e60e01b5f5260205ff3fefefefefefefe5b601856');
    const before = sends();
    unpaid(await pay('sees the price', wallet.prove()));
    expect(sends()).toBe(before);
  });

  it('is refused when its wallet alone needs more gas than a usual settlement', async () => {
    const wallet = await createWallet();
    // Counts down from 5,000, at 26 gas a step, and then gives the magic value.
    await wallet.become('0x6113885b6001900380600357631626ba7e60e01b5f5260205ff3');
    const before = sends();
    unpaid(await pay('slow', wallet.prove()));
    expect(sends()).toBe(before);
  });

  it('who burns our gas burns little of it', async () => {
    const wallet = await createWallet();
    const receipt = await receiptOf(await cheat(wallet, 'burns', wallet.prove()));
    expect(receipt).toMatchObject({ status: '0x0', gasUsed: expect.stringMatching(/^0x/) });
    const gasUsed =
      typeof receipt === 'object' && receipt !== null && 'gasUsed' in receipt ? Number(receipt.gasUsed) : NaN;
    expect(gasUsed).toBeLessThanOrEqual(150_000);
  });

  it('then rests for an hour, while others pay', async () => {
    const [wallet, other] = [await createWallet(), await createWallet()];
    const proofs = wallet.prove();
    await cheat(wallet, 'cheats', proofs);
    await wallet.become(agreeing);
    const before = sends();
    const sale = createSale('again');
    const refused = unpaid(await gate.sellAnswer(sale.request(wallet.prove())));
    expect(refused.challenge.body.error).toBe('payer_contract_reverted');
    expect(sale.produced).toBe(0);
    expect(await codeOf(pay('cheats', proofs))).toBe('payment_pending');
    expect(sends()).toBe(before);
    served(await pay('another contract', other.prove()));
    served(await pay('plain', await fixture.buyer.prove(challenge, 'base')));
    aheadMs = hourMs;
    served(await pay('an hour later', wallet.prove()));
  });

  it('goes on buying when somebody else handed its authorization in first, for which ours was reverted', async () => {
    const { base } = fixture.chains;
    const wallet = await createWallet();
    const runner = await createSpender(fixture.chains, 1n);
    const client = createWalletClient({
      account: privateKeyToAccount(runner.privateKey),
      chain: baseSepolia,
      transport: http(base.rpcUrl),
    });
    const before = sends();
    await base.controls.setAutomine(false);
    const paying = pay('front-run', wallet.prove());
    await vi.waitFor(() => expect(sends()).toBe(before + 1), 60_000);
    const [listed] = await fixture.store.listPayments({ limit: 1 });
    const payment = await fixture.store.getPayment(listed?.identity ?? '');
    const { data = '0x' } = parseTransaction(`0x${payment?.rawTransaction?.slice(2) ?? ''}`);
    const gwei = 10n ** 9n;
    const fees = { maxPriorityFeePerGas: 50n * gwei, maxFeePerGas: 100n * gwei };
    await client.sendTransaction({ to: base.usdc, data, gas: 200_000n, ...fees });
    await base.controls.mine();
    await base.controls.setAutomine(true);
    served(await paying);
    served(await pay('the next one', wallet.prove()));
  });

  it('is refused no longer for an old reverted proof that is sent again', async () => {
    const wallet = await createWallet();
    const proofs = wallet.prove();
    await cheat(wallet, 'old proof', proofs);
    await wallet.become(agreeing);
    aheadMs = hourMs;
    await wallet.become(burning);
    expect(await codeOf(pay('old proof', proofs))).toMatch(/^payment_/);
    await wallet.become(agreeing);
    served(await pay('new proof', wallet.prove()));
  });

  it('waits when twenty settlements of such payers are under way, or were reverted within the hour', async () => {
    const { controls } = fixture.chains.base;
    const wallets: Wallet[] = [];
    for (let count = 0; count < 21; count += 1) wallets.push(await createWallet());
    const [last, ...cheats] = wallets;
    await controls.setAutomine(false);
    const before = sends();
    const paying = cheats.map((wallet, index) => refusalOf(pay(`cheat ${index}`, wallet.prove())));
    await vi.waitFor(() => expect(sends()).toBe(before + 20), 60_000);
    expect(await codeOf(pay('meanwhile', last!.prove()))).toBe('payment_unavailable');
    for (const wallet of cheats) await wallet.become(burning);
    await controls.mine();
    expect((await Promise.all(paying)).map(({ code }) => code)).toEqual(
      Array.from({ length: 20 }, () => 'payment_pending'),
    );
    await controls.setAutomine(true);
    expect(await codeOf(pay('after', last!.prove()))).toBe('payment_unavailable');
    expect(sends()).toBe(before + 20);
    served(await pay('plain meanwhile', await fixture.buyer.prove(challenge, 'base')));
    aheadMs = hourMs;
    served(await pay('next hour', last!.prove()));
  });
});
