import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openCrashSite, type CrashSite, type Purchase } from './crash-site.ts';
import { factsOf, watchReturn, type Return } from './facts.ts';
import { comeBack, reconcileSoon } from './recover.ts';
import type { GateChild } from './start-gate.ts';

const rounds = 6;
const paymentsAtOnce = 6;
/** About as long as a process takes for so many payments. */
const longestMs = 150;

const chains = [
  { chain: 'base', sendMethod: 'eth_sendRawTransaction' },
  { chain: 'solana', sendMethod: 'sendTransaction' },
] as const;

describe.each(chains)('a process that is killed in the middle of many payments on $chain', (names) => {
  const { chain, sendMethod } = names;
  let site: CrashSite;
  let networks: Purchase['networks'];
  let gates: GateChild[];
  beforeAll(async () => {
    gates = [];
    site = await openCrashSite({ chain, engine: 'sqlite', facilitator: 'local' });
    networks = await site.createNetworks();
  });
  afterEach(() => site.chains[chain].controls.clearFaults());
  afterAll(async () => {
    for (const gate of gates ?? []) await gate.end();
    await site?.close();
  });

  const startNext = (): GateChild => {
    const gate = site.startGate();
    gates.push(gate);
    return gate;
  };
  /** It has loaded everything when the payments come. */
  const startWarm = async (): Promise<GateChild> => {
    const child = startNext();
    await comeBack(child, await site.createPurchase('first', networks));
    return child;
  };
  const createPurchases = async (name: string, count: number): Promise<Purchase[]> => {
    const purchases: Purchase[] = [];
    for (let index = 0; index < count; index += 1)
      purchases.push(await site.createPurchase(`${name} ${index}`, networks));
    return purchases;
  };
  const toCommand = (orders: Purchase[]) => ({ kind: 'payAtOnce', networks, orders, aheadMs: 0 }) as const;
  const expectOneCharge = ({ before, ends, after, other }: Return): void => {
    expect({ end: ends.at(-1), after, other }).toMatchObject({
      end: { kind: 'served', ...(before.result === null ? {} : { result: before.result }) },
      after: { state: 'delivered', charges: 1, isPaidByTransaction: true },
      other: { kind: 'refused', code: 'payment_conflict' },
    });
  };
  /** Dies while its first transaction is on its way to the node; `land` lets that arrive. */
  const dieOnTheWay = async (purchases: Purchase[]): Promise<{ land: () => void }> => {
    const { controls } = site.chains[chain];
    const victim = await startWarm();
    const onTheWay = controls.inject({ fault: 'hold', methods: [sendMethod], times: 1 });
    expect(await victim.killDuring(toCommand(purchases), () => onTheWay.waitForHit())).toBe(true);
    return { land: () => onTheWay.remove() };
  };
  it('whatever each had come to, leaves buyers who are served with their proof and charged once', async () => {
    let deaths = 0;
    for (let round = 0; round < rounds; round += 1) {
      const purchases = await createPurchases(`round ${round}`, paymentsAtOnce);
      const victim = await startWarm();
      // Each round somewhat later than the one before, the first surely before the end.
      const afterMs = ((round + Math.random()) / rounds) * longestMs;
      if (await victim.killDuring(toCommand(purchases), () => delay(afterMs))) deaths += 1;

      const next = startNext();
      const [impatient, patient] = [purchases.slice(0, 3), purchases.slice(3)];
      for (const purchase of impatient) expectOneCharge(await watchReturn(site, next, purchase));
      await reconcileSoon(next, { site, networks, purchases: patient });
      for (const purchase of patient) {
        const { state, charges } = await factsOf(site, purchase);
        if (charges > 0) expect(['settled', 'delivered']).toContain(state);
        expectOneCharge(await watchReturn(site, next, purchase));
      }
    }
    expect(deaths).toBeGreaterThan(0);
  });

  it('leaves a transaction that lands after its death, and is found without being sent again', async () => {
    const purchase = await site.createPurchase('lands late', networks);
    const { land } = await dieOnTheWay([purchase]);
    const { controls } = site.chains[chain];
    const sends = controls.callCount(sendMethod);
    land();
    await expect.poll(() => site.chargesOf(purchase)).toBe(1);
    const next = startNext();
    await reconcileSoon(next, { site, networks, purchases: [purchase] });
    expect(await factsOf(site, purchase)).toMatchObject({ state: 'settled', isPaidByTransaction: true });
    expectOneCharge(await watchReturn(site, next, purchase));
    expect(controls.callCount(sendMethod)).toBe(sends);
  });

  it('leaves a transaction that arrives when its place is taken and its buyer is served', async () => {
    const purchases = await createPurchases('arrives late', 3);
    const { land } = await dieOnTheWay(purchases);
    const next = startNext();
    for (const purchase of purchases.toReversed()) expectOneCharge(await watchReturn(site, next, purchase));
    const sends = site.chains[chain].controls.callCount(sendMethod);
    land();
    // The node has answered for the late one when it answers for one that was sent after it.
    await comeBack(next, await site.createPurchase('last', networks));
    expect(site.chains[chain].controls.callCount(sendMethod)).toBe(sends + 1);
    for (const purchase of purchases) expect(await site.chargesOf(purchase)).toBe(1);
  });
});
