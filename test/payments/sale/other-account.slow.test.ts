import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createJsonRpc } from '../../../src/payments/chains/core/json-rpc.ts';
import type { Challenge, X402Gate } from '../../../src/payments/sale/gate.ts';
import {
  createSale,
  hasty,
  overRest,
  payAtLast,
  price,
  priceUnits,
  refusalOf,
  served,
  startGateFixture,
  untilPending,
  type GateFixture,
  type Sale,
} from '../support/gate-fixture.ts';

let fixture: GateFixture;
let challenge: Challenge;
let former: X402Gate;
/** Settles from an account of its own, new in every test. */
let present: X402Gate;
let account: `0x${string}`;
/** By how much its clock is ahead. */
let aheadMs = 0;
beforeAll(async () => {
  fixture = await startGateFixture();
  former = fixture.openGate({ timeouts: hasty });
  challenge = former.challenge({ price, ...overRest });
  // It is in use for long: there are many places before its next one.
  await ask('anvil_setNonce', [fixture.chains.base.facilitator.address, '0x3e8']);
});
beforeEach(async () => {
  const { base } = fixture.chains;
  const privateKey = generatePrivateKey();
  account = privateKeyToAddress(privateKey);
  await base.controls.setBalance(account, 10n ** 18n);
  aheadMs = 0;
  present = fixture.openGate({
    timeouts: hasty,
    clock: { now: () => Date.now() + aheadMs },
    networks: fixture.localNetworks.map((offered) =>
      offered.network === base.network && offered.facilitator.kind === 'local'
        ? { ...offered, facilitator: { ...offered.facilitator, privateKey } }
        : offered,
    ),
  });
});
afterEach(async () => {
  await fixture.chains.base.controls.setAutomine(true);
  await fixture.chains.base.controls.mine();
});
afterAll(() => fixture?.close());

const ask = (method: string, params: unknown[]): Promise<unknown> =>
  createJsonRpc({ url: fixture.chains.base.rpcUrl, timeoutMs: 5_000 }).request(
    method,
    params,
    new AbortController().signal,
  );

/** How many transactions the present account has sent, landed or not. */
const sentByPresent = async (): Promise<number> =>
  Number(await ask('eth_getTransactionCount', [account, 'pending']));
const earned = async (): Promise<bigint> => (await fixture.balances('base')).seller;

interface Begun {
  request: ReturnType<Sale['request']>;
  transaction: `0x${string}`;
}

/** A payment whose transaction, of the former account, waits in the pool. */
const begin = async (name: string): Promise<Begun> => {
  await fixture.chains.base.controls.setAutomine(false);
  const request = createSale(name).request(await fixture.buyer.prove(challenge, 'base'));
  const { headers } = await untilPending(() => former.sellAnswer(request));
  return { request, transaction: `0x${headers['x-payment-transaction']?.slice(2) ?? ''}` };
};

describe('a settlement that another account has sent', () => {
  it('is waited for, and costs the present account nothing', async () => {
    const { controls } = fixture.chains.base;
    const before = await earned();
    const { request, transaction } = await begin('waited for');
    expect((await refusalOf(present.sellAnswer(request))).headers['x-payment-transaction']).toBe(transaction);
    expect(await sentByPresent()).toBe(0);
    await controls.mine();
    expect(served(await payAtLast(present, request)).transaction).toBe(transaction);
    expect(await sentByPresent()).toBe(0);
    expect(await earned()).toBe(before + priceUnits);
  });

  it('is sent again to a node that has lost it', async () => {
    const { controls } = fixture.chains.base;
    const before = await earned();
    const { request, transaction } = await begin('sent again');
    await controls.dropPending(transaction);
    await controls.setAutomine(true);
    expect(served(await payAtLast(present, request)).transaction).toBe(transaction);
    expect(await sentByPresent()).toBe(0);
    expect(await earned()).toBe(before + priceUnits);
  });

  it('is settled anew, once, when no node takes it any more', async () => {
    const { controls } = fixture.chains.base;
    const { facilitator } = fixture.chains.base;
    const before = await earned();
    const { request, transaction } = await begin('refused');
    await controls.dropPending(transaction);
    await controls.setBalance(facilitator.address, 0n);
    await controls.setAutomine(true);
    expect(served(await payAtLast(present, request)).transaction).not.toBe(transaction);
    expect(served(await payAtLast(present, request)).replayed).toBe(true);
    expect(await sentByPresent()).toBe(1);
    expect(await earned()).toBe(before + priceUnits);
    await controls.setBalance(facilitator.address, 10n ** 18n);
  });

  it('is settled anew when its place was taken', async () => {
    const { controls, facilitator } = fixture.chains.base;
    const before = await earned();
    const { request, transaction } = await begin('overtaken');
    await controls.dropPending(transaction);
    await controls.setAutomine(true);
    served(
      await payAtLast(former, createSale('other').request(await fixture.buyer.prove(challenge, 'base'))),
    );
    expect(served(await payAtLast(present, request)).transaction).not.toBe(transaction);
    expect(await sentByPresent()).toBe(1);
    expect(await earned()).toBe(before + 2n * priceUnits);
    await controls.setBalance(facilitator.address, 10n ** 18n);
  });

  it('is settled anew when it is not mined for a while, and charged once if both land', async () => {
    const { controls } = fixture.chains.base;
    const before = await earned();
    const { request } = await begin('not mined');
    expect((await refusalOf(present.sellAnswer(request))).code).toBe('payment_pending');
    expect(await sentByPresent()).toBe(0);
    aheadMs = 61_000;
    const patient = present.sellAnswer(request);
    await vi.waitFor(async () => expect(await sentByPresent()).toBe(1), 60_000);
    await controls.mine();
    await patient.catch(() => undefined);
    served(await payAtLast(present, request));
    expect(await sentByPresent()).toBe(1);
    expect(await earned()).toBe(before + priceUnits);
  });
});
