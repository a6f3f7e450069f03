import {
  createWalletClient,
  encodeFunctionData,
  http,
  maxUint256,
  parseAbi,
  parseTransaction,
  publicActions,
  type Hex,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { baseSepolia, bscTestnet } from 'viem/chains';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Challenge, X402Gate } from '../../../src/payments/sale/gate.ts';
import type { Payment } from '../../../src/store/store.ts';
import { bnbPriceUnits, startBnbFixture, type BnbFixture } from '../support/bnb-fixture.ts';
import {
  codeOf,
  createSale,
  hasty,
  overRest,
  price,
  priceUnits,
  refusalOf,
  served,
  startGateFixture,
  unpaid,
  untilPending,
  type GateFixture,
  type Sale,
} from '../support/gate-fixture.ts';
import { createSpender, type Spender } from '../support/spender.ts';

const erc20Abi = parseAbi(['function approve(address spender, uint256 amount) returns (bool)']);

const newest = async ({ store }: GateFixture | BnbFixture): Promise<Payment> => {
  const [listed] = await store.listPayments({ limit: 1 });
  const payment = await store.getPayment(listed?.identity ?? '');
  if (payment === null) throw new Error('there is no payment');
  return payment;
};

describe('a settlement on Base that was reverted', () => {
  let fixture: GateFixture;
  let gate: X402Gate;
  let challenge: Challenge;
  beforeAll(async () => {
    fixture = await startGateFixture();
    gate = fixture.openGate();
    challenge = gate.challenge({ price, ...overRest });
  });
  afterEach(() => fixture.chains.base.controls.setAutomine(true));
  afterAll(() => fixture?.close());

  const earned = async (): Promise<bigint> => (await fixture.balances('base')).seller;

  interface Reverted {
    sale: Sale;
    request: ReturnType<Sale['request']>;
    spender: Spender;
    /** The call that is on the chain for everybody to read. */
    call: Hex;
    identity: string;
  }

  const sends = (): number => fixture.chains.base.controls.callCount('eth_sendRawTransaction');

  /** The buyer spends the money while the settlement waits for its block. */
  const revert = async (name: string, payer: Spender | null = null): Promise<Reverted> => {
    const { controls } = fixture.chains.base;
    const spender = payer ?? (await createSpender(fixture.chains, priceUnits));
    const sale = createSale(name);
    const request = sale.request(await spender.buyer.prove(challenge, 'base'));
    const before = sends();
    await controls.setAutomine(false);
    const paying = refusalOf(gate.sellAnswer(request));
    await vi.waitFor(() => expect(sends()).toBe(before + 1), 60_000);
    await spender.spendAll();
    await controls.mine();
    expect((await paying).code).toBe('payment_pending');
    await controls.setAutomine(true);
    const payment = await newest(fixture);
    expect(payment).toMatchObject({ state: 'unknown', reason: 'transaction_reverted' });
    const { data } = parseTransaction(`0x${payment.rawTransaction?.slice(2) ?? ''}`);
    return { sale, request, spender, call: data ?? '0x', identity: payment.identity };
  };

  it('stays pending while its authorization is good, whoever looks at it', async () => {
    const { request, identity } = await revert('pending');
    expect(await gate.reconcileOne({ identity, transaction: null })).toMatchObject({ state: 'unknown' });
    expect(await codeOf(gate.sellAnswer(request))).toBe('payment_pending');
    expect((await fixture.store.getPayment(identity))?.state).toBe('unknown');
  });

  it('is settled when somebody else hands in what it showed to all', async () => {
    const before = await earned();
    const { sale, request, spender, call } = await revert('handed in');
    const { base } = fixture.chains;
    await base.mint(spender.address, priceUnits);
    const anybody = createWalletClient({
      account: privateKeyToAccount(base.facilitator.privateKey),
      chain: baseSepolia,
      transport: http(base.rpcUrl),
    });
    const transaction = await anybody.sendTransaction({ to: base.usdc, data: call });
    expect(served(await gate.sellAnswer(request))).toMatchObject({ transaction, replayed: true });
    expect(sale.produced).toBe(1);
    expect(await earned()).toBe(before + priceUnits);
  });

  it('says nothing when it is another one, which somebody named', async () => {
    const { base } = fixture.chains;
    const before = await earned();
    const impatient = fixture.openGate({ timeouts: hasty });
    const wallet = createWalletClient({
      account: privateKeyToAccount(base.facilitator.privateKey),
      chain: baseSepolia,
      transport: http(base.rpcUrl),
    });
    const transaction = await wallet.sendTransaction({ to: base.usdc, data: '0xdeadbeef', gas: 100_000n });
    const request = createSale('named').request(await fixture.buyer.prove(challenge, 'base'));
    await base.controls.setAutomine(false);
    await untilPending(() => impatient.sellAnswer(request));
    const { identity } = await newest(fixture);
    expect(await impatient.reconcileOne({ identity, transaction })).toMatchObject({ state: 'unknown' });
    await base.controls.setAutomine(true);
    await base.controls.mine();
    served(await gate.sellAnswer(request));
    expect(await earned()).toBe(before + priceUnits);
  });

  it('is not repeated without end: after three its payer is refused for an hour, by every process', async () => {
    const { base } = fixture.chains;
    const amount = 10n * priceUnits;
    const spender = await createSpender(fixture.chains, amount);
    const old: Reverted[] = [];
    for (const name of ['first', 'second', 'third']) {
      old.push(await revert(name, spender));
      await base.mint(spender.address, amount);
    }
    const before = sends();
    const another = fixture.openGate();
    const sale = createSale('fourth');
    const request = sale.request(await spender.buyer.prove(challenge, 'base'));
    expect(await refusalOf(another.sellAnswer(request))).toMatchObject({
      code: 'rate_limit_exceeded',
      retryAfterSeconds: 3_600,
    });
    expect(sale.produced).toBe(0);
    for (const one of old) expect(await codeOf(another.sellAnswer(one.request))).toBe('payment_pending');
    expect(sends()).toBe(before);
    served(await gate.sellAnswer(createSale('other').request(await fixture.buyer.prove(challenge, 'base'))));
    const later = fixture.openGate({ clock: { now: () => Date.now() + 3_600_000 } });
    served(await later.sellAnswer(request));
  });

  // Last: what is signed from now on is of another time.
  it('is failed once its authorization has run out', async () => {
    const before = await earned();
    const { request, spender, identity } = await revert('run out');
    await fixture.chains.base.controls.advanceSeconds(400);
    await fixture.chains.base.mint(spender.address, priceUnits);
    const refused = unpaid(await gate.sellAnswer(request));
    expect(refused.challenge.body.error).toBe('invalid_exact_evm_payload_authorization_valid_before');
    expect((await fixture.store.getPayment(identity))?.state).toBe('failed');
    expect(await earned()).toBe(before);
  });
});

describe('a settlement through Permit2 that was reverted', () => {
  let fixture: BnbFixture;
  let gate: X402Gate;
  let challenge: Challenge;
  beforeAll(async () => {
    fixture = await startBnbFixture();
    gate = fixture.openGate();
    challenge = gate.challenge({ price, ...overRest });
  });
  afterEach(() => fixture.chain.controls.setAutomine(true));
  afterAll(() => fixture?.close());

  /** The buyer takes the allowance back while the settlement waits for its block; what it answers gives it again. */
  const revert = async (name: string) => {
    const { controls, rpcUrl, usdc } = fixture.chain;
    const buyer = await fixture.createBuyer();
    const wallet = createWalletClient({
      account: privateKeyToAccount(buyer.privateKey),
      chain: bscTestnet,
      transport: http(rpcUrl),
      pollingInterval: 20,
    }).extend(publicActions);
    const spender = '0x000000000022D473030F116dDEE9F6B43aC78BA3';
    const approve = (amount: bigint): Promise<Hex> =>
      wallet.sendTransaction({
        to: usdc,
        data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [spender, amount] }),
        gas: 100_000n,
        maxPriorityFeePerGas: 2_000_000_000n,
        maxFeePerGas: 20_000_000_000n,
      });
    const request = createSale(name).request(await buyer.prove(challenge));
    const sends = controls.callCount('eth_sendRawTransaction');
    await controls.setAutomine(false);
    const paying = refusalOf(gate.sellAnswer(request));
    await vi.waitFor(() => expect(controls.callCount('eth_sendRawTransaction')).toBe(sends + 1), 60_000);
    await approve(0n);
    await controls.mine();
    expect((await paying).code).toBe('payment_pending');
    await controls.setAutomine(true);
    expect(await newest(fixture)).toMatchObject({ state: 'unknown', reason: 'transaction_reverted' });
    const allowAgain = async (): Promise<void> => {
      await wallet.waitForTransactionReceipt({ hash: await approve(maxUint256) });
    };
    return { request, allowAgain };
  };

  const earned = (): Promise<bigint> => fixture.chain.balanceOf(fixture.chain.seller.address);

  it('stays pending, and is settled once when the buyer lets it', async () => {
    const before = await earned();
    const { request, allowAgain } = await revert('allowed again');
    expect(await codeOf(gate.sellAnswer(request))).toBe('payment_pending');
    await allowAgain();
    expect(served(await gate.sellAnswer(request)).replayed).toBe(true);
    expect(await earned()).toBe(before + bnbPriceUnits);
  });

  // Last: what is signed from now on is of another time.
  it('is failed once its deadline has passed', async () => {
    const before = await earned();
    const { request } = await revert('deadline');
    await fixture.chain.controls.advanceSeconds(400);
    expect(unpaid(await gate.sellAnswer(request)).challenge.body.error).toBe('permit2_deadline_expired');
    expect(await earned()).toBe(before);
  });
});
