import type { ChainName } from '../support/buyer.ts';
import { hasty } from '../support/gate-fixture.ts';
import { openCrashSite, type CrashSite, type Purchase } from './crash-site.ts';
import { factsOf, watchReturn, type Facts, type Return } from './facts.ts';
import { isRepeatedPoll } from './payment-steps.ts';
import {
  abandon,
  afterLeaseMs,
  expiredMs,
  manyPayments,
  payOnce,
  reconcileLater,
  reconcileOnce,
  reconcileSoon,
} from './recover.ts';
import type { Gate } from './start-gate.ts';

/** Payments that nobody works on any more when a process reconciles them. */
export interface LeftBehind<T> {
  /** Its process died before it sent the transaction. */
  unsent: T;
  /** Its process died before it wrote down that the chain has the transaction. */
  unwritten: T;
  /** The node took the transaction, and has said nothing since. */
  unknown: T;
}

/** A process that was killed at that step, while it reconciled three payments. */
export interface Interruption {
  step: string;
  before: LeftBehind<Facts>;
  /** After the next process has reconciled them. */
  reconciled: LeftBehind<Facts>;
  /** Then their buyers come back. */
  returns: LeftBehind<Return>;
}

export interface Interruptions {
  soon: Interruption[];
  /** When the proofs of many unsent payments have run out, and how these stand in the end. */
  late: { steps: string[]; ends: Facts[] };
}

const methods: Record<ChainName, { send: string; status: string }> = {
  base: { send: 'eth_sendRawTransaction', status: 'eth_getTransactionReceipt' },
  solana: { send: 'sendTransaction', status: 'getSignatureStatuses' },
};
/** More than a reconciler has steps for one payment. */
const lateCounts = { base: 16, solana: 32 };

type Networks = LeftBehind<Purchase['networks']>;

const ofAll = async <A, B>(all: LeftBehind<A>, see: (one: A) => Promise<B>): Promise<LeftBehind<B>> => ({
  unsent: await see(all.unsent),
  unwritten: await see(all.unwritten),
  unknown: await see(all.unknown),
});

const payIntoTheDark = async (
  gate: Gate,
  purchase: Purchase,
  { site, chain }: { site: CrashSite; chain: ChainName },
): Promise<void> => {
  const { controls } = site.chains[chain];
  const { send, status } = methods[chain];
  const outages = [
    controls.inject({ fault: 'lose-answer', methods: [send] }),
    controls.inject({ fault: 'unavailable', methods: [status] }),
  ];
  const pay = () => payOnce(gate, purchase, { aheadMs: 0, timeouts: hasty });
  let end = await pay();
  // It gave up before it sent anything.
  while (end.kind === 'refused' && end.code === 'payment_unavailable') end = await pay();
  for (const outage of outages) outage.remove();
  if (end.kind !== 'refused' || end.code !== 'payment_pending')
    throw new Error(`a payment into the dark: ${JSON.stringify(end)}`);
};

const leaveBehind = async (
  gate: Gate,
  networks: Networks,
  { site, chain, name }: { site: CrashSite; chain: ChainName; name: string },
): Promise<LeftBehind<Purchase>> => {
  const purchases = {
    unsent: await site.createPurchase(`unsent ${name}`, networks.unsent),
    unwritten: await site.createPurchase(`unwritten ${name}`, networks.unwritten),
    unknown: await site.createPurchase(`unknown ${name}`, networks.unknown),
  };
  await abandon(gate, purchases.unsent, `before ${methods[chain].send}`);
  await abandon(gate, purchases.unwritten, 'before advancePayment to settled');
  await payIntoTheDark(gate, purchases.unknown, { site, chain });
  return purchases;
};

interface Scene {
  site: CrashSite;
  chain: ChainName;
  networks: Networks;
  start: () => Gate;
}

const interruptSoon = async ({ site, chain, networks, start }: Scene): Promise<Interruption[]> => {
  let gate = start();
  await leaveBehind(gate, networks, { site, chain, name: 'undisturbed' });
  const run = { networks: networks.unsent, aheadMs: afterLeaseMs, limit: manyPayments };
  const steps = await reconcileOnce(gate, run);
  const interruptions: Interruption[] = [];
  for (const step of steps.filter((name) => !isRepeatedPoll(name))) {
    const purchases = await leaveBehind(gate, networks, { site, chain, name: step });
    const before = await ofAll(purchases, (purchase) => factsOf(site, purchase));
    await gate.dieOf({ ...run, kind: 'reconcile', dieAt: step });
    const next = start();
    gate = next;
    const reconciling = { site, networks: networks.unsent, purchases: Object.values(purchases) };
    // The dead process has put its name to them for a while.
    await reconcileSoon(next, reconciling, 3 * afterLeaseMs);
    interruptions.push({
      step,
      before,
      reconciled: await ofAll(purchases, (purchase) => factsOf(site, purchase)),
      returns: await ofAll(purchases, (purchase) => watchReturn(site, next, purchase)),
    });
  }
  return interruptions;
};

const interruptLate = async ({ site, chain, networks, start }: Scene): Promise<Interruptions['late']> => {
  let gate = start();
  const purchases: Purchase[] = [];
  for (let index = 0; index < lateCounts[chain]; index += 1) {
    const purchase = await site.createPurchase(`late ${index}`, networks.unsent);
    await abandon(gate, purchase, `before ${methods[chain].send}`);
    purchases.push(purchase);
  }
  await site.expireProofs();
  const run = { networks: networks.unsent, aheadMs: expiredMs, limit: 1 };
  const steps = await reconcileOnce(gate, run);
  for (const step of steps) {
    await gate.dieOf({ ...run, kind: 'reconcile', dieAt: step });
    gate = start();
  }
  await reconcileLater(gate, { site, networks: networks.unsent, purchases });
  return { steps, ends: await Promise.all(purchases.map((purchase) => factsOf(site, purchase))) };
};

/** Kills a gate at each step of reconciling, one gate a step: soon after the payments, and when they ran out. */
export const killWhileReconciling = async (chain: ChainName): Promise<Interruptions> => {
  const site = await openCrashSite({ chain, engine: 'sqlite', facilitator: 'local' });
  const gates: Gate[] = [];
  const start = (): Gate => {
    const gate = site.startGate();
    gates.push(gate);
    return gate;
  };
  try {
    const networks = {
      unsent: await site.createNetworks(),
      unwritten: await site.createNetworks(),
      unknown: await site.createNetworks(),
    };
    const scene = { site, chain, networks, start };
    return { soon: await interruptSoon(scene), late: await interruptLate(scene) };
  } finally {
    for (const one of gates) await one.end();
    await site.close();
  }
};
