import { parseTransaction } from 'viem';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createJsonRpc } from '../../../src/payments/chains/core/json-rpc.ts';
import type { Challenge, SoldOutcome, X402Gate } from '../../../src/payments/sale/gate.ts';
import type { AdvancePaymentInput, Store } from '../../../src/store/store.ts';
import {
  codeOf,
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

const gwei = 10n ** 9n;
/** Above what transactions offered before, and still worth a settlement. */
const risen = 20n * gwei;
/** Above what a settlement may cost. */
const prohibitive = 200n * gwei;
const usual = gwei;

let fixture: GateFixture;
let gate: X402Gate;
let challenge: Challenge;
/** By how much the gate's clock is ahead. */
let aheadMs = 0;
/** What was signed, by its hash. */
const rawTransactions = new Map<string, string>();
beforeAll(async () => {
  fixture = await startGateFixture();
  const store: Store = {
    ...fixture.store,
    advancePayment: (input) => {
      const { transaction, rawTransaction } = input.set ?? {};
      if (transaction && rawTransaction) rawTransactions.set(transaction, rawTransaction);
      return fixture.store.advancePayment(input);
    },
  };
  gate = fixture.openGate({ timeouts: hasty, store, clock: { now: () => Date.now() + aheadMs } });
  challenge = gate.challenge({ price, ...overRest });
});
afterEach(async () => {
  aheadMs = 0;
  const { controls } = fixture.chains.base;
  controls.clearFaults();
  await controls.setAutomine(true);
  await controls.setNextBaseFee(usual);
  await controls.mine();
});
afterAll(() => fixture?.close());

const earned = async (): Promise<bigint> => (await fixture.balances('base')).seller;

interface Stuck {
  sale: Sale;
  request: ReturnType<Sale['request']>;
  transaction: `0x${string}`;
}

/** Payments whose transactions wait in the pool without a block to take them, in the order of their places there. */
const leaveInPool = async (...names: string[]): Promise<Stuck[]> => {
  await fixture.chains.base.controls.setAutomine(false);
  const begun = await Promise.all(
    names.map(async (name) => {
      const sale = createSale(name);
      const request = sale.request(await fixture.buyer.prove(challenge, 'base'));
      return { sale, request };
    }),
  );
  const stuck = begun.map(async ({ sale, request }): Promise<Stuck> => {
    const pending = await untilPending(() => gate.sellAnswer(request));
    return { sale, request, transaction: `0x${pending.headers['x-payment-transaction']?.slice(2) ?? ''}` };
  });
  const all = await Promise.all(stuck);
  return all.sort((a, b) => placeOf(a) - placeOf(b));
};

/** Its nonce. */
const placeOf = ({ transaction }: Stuck): number => {
  const raw = rawTransactions.get(transaction);
  return (raw === undefined ? null : parseTransaction(`0x${raw.slice(2)}`).nonce) ?? 0;
};

/** The latest block asks for so much, and took nothing for it. Local pools forget what is refused so. */
const raiseBaseFee = async (wei: bigint): Promise<void> => {
  const { controls } = fixture.chains.base;
  await controls.setNextBaseFee(wei);
  await controls.mine();
};

const ask = (method: string, ...params: unknown[]): Promise<unknown> =>
  createJsonRpc({ url: fixture.chains.base.rpcUrl, timeoutMs: 30_000 }).request(
    method,
    params,
    new AbortController().signal,
  );

/** Brings a transaction to the node again, as other nodes do that kept it. */
const bringBack = (transaction: string): Promise<unknown> =>
  ask('eth_sendRawTransaction', rawTransactions.get(transaction));

/** The next block asks for what it used to, and takes the transaction. */
const land = async (transaction: string): Promise<void> => {
  const { controls } = fixture.chains.base;
  await controls.setNextBaseFee(usual);
  await bringBack(transaction);
  await controls.mine();
};

const patience = { timeout: 60_000, interval: 50 };

const reached = (isReached: () => boolean): Promise<void> =>
  vi.waitFor(() => expect(isReached()).toBe(true), patience);

/** Blocks at the usual price come until the seller has so much. */
const mineUntilEarned = (amount: bigint): Promise<void> =>
  vi.waitFor(async () => {
    const { controls } = fixture.chains.base;
    await controls.setNextBaseFee(usual);
    await controls.mine();
    expect(await earned()).toBe(amount);
  }, patience);

const isWriteAhead = (input: AdvancePaymentInput): boolean =>
  input.to === 'broadcasting' && input.set?.transaction !== undefined;

describe('a transaction that offers less than the base fee by now', () => {
  it('is replaced in its place by one that offers more, and the buyer pays once', async () => {
    const before = await earned();
    const { controls } = fixture.chains.base;
    const [stuck] = await leaveInPool('replaced');
    await raiseBaseFee(risen);
    await controls.setNextBaseFee(usual);
    await bringBack(stuck!.transaction);
    const sends = controls.callCount('eth_sendRawTransaction');
    const paying = payAtLast(gate, stuck!.request);
    await reached(() => controls.callCount('eth_sendRawTransaction') >= sends + 1);
    await mineUntilEarned(before + priceUnits);
    const answer = served(await paying);
    expect(answer.transaction).not.toBe(stuck!.transaction);
    expect(stuck!.sale.produced).toBe(1);
    await expect(bringBack(stuck!.transaction)).rejects.toThrow(/nonce/);
    expect(await earned()).toBe(before + priceUnits);
  });

  it('is replaced when the node has forgotten it, too', async () => {
    const before = await earned();
    const [stuck] = await leaveInPool('forgotten and replaced');
    await raiseBaseFee(risen);
    await fixture.chains.base.controls.setAutomine(true);
    expect(served(await payAtLast(gate, stuck!.request)).transaction).not.toBe(stuck!.transaction);
    expect(await earned()).toBe(before + priceUnits);
  });

  it('is found when it landed after all, just before the other was sent', async () => {
    const before = await earned();
    const [stuck] = await leaveInPool('lands after all');
    await raiseBaseFee(risen);
    const store: Store = {
      ...fixture.store,
      advancePayment: async (input) => {
        const moved = await fixture.store.advancePayment(input);
        if (isWriteAhead(input)) {
          expect(input.set?.transaction).not.toBe(stuck!.transaction);
          await land(stuck!.transaction);
        }
        return moved;
      },
    };
    const answer = served(await fixture.openGate({ store }).sellAnswer(stuck!.request));
    expect(answer.transaction).toBe(stuck!.transaction);
    expect(await earned()).toBe(before + priceUnits);
  });

  it('is found when it landed and only the one that never left is on record', async () => {
    const before = await earned();
    const [stuck] = await leaveInPool('not on record');
    await raiseBaseFee(risen);
    const death = Promise.withResolvers<void>();
    const store: Store = {
      ...fixture.store,
      advancePayment: async (input) => {
        const moved = await fixture.store.advancePayment(input);
        if (!isWriteAhead(input)) return moved;
        death.resolve();
        return new Promise(() => {});
      },
    };
    void fixture.openGate({ store }).sellAnswer(stuck!.request);
    await death.promise;
    await land(stuck!.transaction);
    const later = fixture.openGate({ clock: { now: () => Date.now() + 31_000 } });
    expect(served(await later.sellAnswer(stuck!.request)).transaction).toBe(stuck!.transaction);
    expect(await earned()).toBe(before + priceUnits);
  });

  it('waits when the chain asks for more than a settlement may cost, and lands when it is cheaper', async () => {
    const before = await earned();
    const [stuck] = await leaveInPool('too dear');
    await raiseBaseFee(prohibitive);
    expect(await codeOf(gate.sellAnswer(stuck!.request))).toBe('payment_pending');
    await land(stuck!.transaction);
    expect(served(await payAtLast(gate, stuck!.request)).transaction).toBe(stuck!.transaction);
    expect(await earned()).toBe(before + priceUnits);
  });

  it('keeps no later one waiting, and is settled anew when it is asked for', async () => {
    const before = await earned();
    const { controls } = fixture.chains.base;
    const [first, second] = await leaveInPool('stuck first', 'stuck second');
    await raiseBaseFee(risen);
    await controls.setNextBaseFee(usual);
    await bringBack(first!.transaction);
    await bringBack(second!.transaction);
    const sends = controls.callCount('eth_sendRawTransaction');
    const paying = payAtLast(gate, second!.request);
    await reached(() => controls.callCount('eth_sendRawTransaction') >= sends + 2);
    await mineUntilEarned(before + priceUnits);
    served(await paying);
    await controls.setAutomine(true);
    served(await payAtLast(gate, first!.request));
    expect(await earned()).toBe(before + 2n * priceUnits);
  });
});

describe('a transaction that leaves less for the miner than others by now', () => {
  /** What the base fee leaves of its offer is half of what it offered. */
  const outbid = async ({ transaction }: Stuck): Promise<void> => {
    const { controls } = fixture.chains.base;
    const signed = parseTransaction(`0x${rawTransactions.get(transaction)?.slice(2) ?? ''}`);
    const { maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = signed;
    await controls.dropPending(transaction);
    await controls.setNextBaseFee(maxFeePerGas - maxPriorityFeePerGas / 2n);
    await controls.mine();
  };

  it('waits at first, and is replaced when it is not mined for a while', async () => {
    const before = await earned();
    const { controls } = fixture.chains.base;
    const [stuck] = await leaveInPool('outbid');
    await outbid(stuck!);
    expect((await refusalOf(gate.sellAnswer(stuck!.request))).headers['x-payment-transaction']).toBe(
      stuck!.transaction,
    );
    aheadMs = 61_000;
    const paying = payAtLast(gate, stuck!.request);
    const replacement = (): string => [...rawTransactions.keys()].at(-1) ?? '';
    await vi.waitFor(async () => {
      expect(replacement()).not.toBe(stuck!.transaction);
      expect(await ask('eth_getTransactionByHash', replacement())).not.toBeNull();
    }, patience);
    await controls.mine();
    expect(served(await paying).transaction).toBe(replacement());
    expect(await earned()).toBe(before + priceUnits);
  });

  it('stays when it is not mined for a while, and others offer no more', async () => {
    const { controls } = fixture.chains.base;
    const [stuck] = await leaveInPool('not outbid');
    aheadMs = 61_000;
    expect((await refusalOf(gate.sellAnswer(stuck!.request))).headers['x-payment-transaction']).toBe(
      stuck!.transaction,
    );
    await controls.mine();
    expect(served(await payAtLast(gate, stuck!.request)).transaction).toBe(stuck!.transaction);
  });
});

describe('a transaction that is lost under others', () => {
  it('keeps those from landing only until one of them is asked for', async () => {
    const before = await earned();
    const [lost, later] = await leaveInPool('lost', 'later');
    await fixture.chains.base.controls.dropPending(lost!.transaction);
    await fixture.chains.base.controls.setAutomine(true);
    expect(served(await payAtLast(gate, later!.request)).transaction).toBe(later!.transaction);
    expect(await earned()).toBe(before + priceUnits);
    served(await payAtLast(gate, lost!.request));
    expect(await earned()).toBe(before + 2n * priceUnits);
  });

  it('leaves its place to the next payment, and the one after that takes the place of no other, whatever it offers', async () => {
    const before = await earned();
    const { controls } = fixture.chains.base;
    const [lost, later] = await leaveInPool('lost too', 'later too');
    await controls.dropPending(lost!.transaction);
    await raiseBaseFee(risen);
    await controls.setNextBaseFee(usual);
    await bringBack(later!.transaction).catch(() => undefined);
    const sends = controls.callCount('eth_sendRawTransaction');
    const paying: Promise<SoldOutcome>[] = [];
    for (const [index, name] of ['next', 'the one after'].entries()) {
      const proofs = await fixture.buyer.prove(challenge, 'base');
      paying.push(payAtLast(gate, createSale(name).request(proofs)));
      await reached(() => controls.callCount('eth_sendRawTransaction') >= sends + index + 1);
    }
    await mineUntilEarned(before + 3n * priceUnits);
    for (const outcome of await Promise.all(paying)) served(outcome);
    expect(served(await payAtLast(gate, later!.request)).transaction).toBe(later!.transaction);
    await controls.setAutomine(true);
    served(await payAtLast(gate, lost!.request));
    expect(await earned()).toBe(before + 4n * priceUnits);
  });
});
