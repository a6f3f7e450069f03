import { openCrashSite, type Purchase, type SiteOptions } from './crash-site.ts';
import { factsOf, watchReturn, type Facts, type Return } from './facts.ts';
import { isRepeatedPoll } from './payment-steps.ts';
import { reconcileLater, reconcileSoon, recordSteps } from './recover.ts';
import type { GateChild } from './start-gate.ts';

/** Three payments that one gate was in the middle of, at the same step, when it died. */
export interface Death {
  step: string;
  /** By the store and the chain at the time of the death. */
  dead: { returning: Facts; reconciled: Facts; gone: Facts };
  /** The buyer comes back before anything looks after the payment. */
  returning: Return;
  /** The payment is reconciled, then the buyer comes back. */
  reconciled: Return;
  /** The buyer never comes back. `expired`: reconciled again when his proof has run out. */
  gone: { reconciled: Facts; expired: Facts };
}

export interface Deaths {
  /** Those of an undisturbed payment, in order. */
  steps: string[];
  deaths: Death[];
}

export interface KillOptions extends SiteOptions {
  /** Picks the steps to die at; absent: all. */
  isWanted?: (step: string) => boolean;
}

/** Kills a gate at each step of a payment, one gate a step, and lets the next one recover. */
export const killAtEveryStep = async (options: KillOptions): Promise<Deaths> => {
  const site = await openCrashSite(options);
  const gates = new Set<GateChild>();
  const start = (): GateChild => {
    const gate = site.startGate();
    gates.add(gate);
    return gate;
  };
  try {
    const networks = {
      returning: await site.createNetworks(),
      reconciled: await site.createNetworks(),
      gone: await site.createNetworks(),
    };
    const create = async (name: keyof typeof networks, step: string): Promise<Purchase> =>
      site.createPurchase(`${name} ${step}`, networks[name]);

    const first = start();
    await recordSteps(first, await create('returning', 'first'));
    // An orderly end leaves compiled code for the processes to come.
    await first.end();
    let gate = start();
    // What a process asks only once, it asks here: each death comes after other payments as well.
    await recordSteps(gate, await create('returning', 'second'));
    const steps = await recordSteps(gate, await create('returning', 'third'));
    const isDeadly = (name: string): boolean => !isRepeatedPoll(name) && options.isWanted?.(name) !== false;
    const deadly = steps.filter(isDeadly);
    const deaths: Death[] = [];
    const goneForGood: Purchase[] = [];
    for (const step of deadly) {
      const returning = await create('returning', step);
      const reconciled = await create('reconciled', step);
      const gone = await create('gone', step);
      goneForGood.push(gone);
      const orders = [returning, reconciled, gone];
      // Else this process would wait where the recorded one did not.
      await site.endTurns(orders);
      await gate.dieOf({ kind: 'pay', orders, dieAt: step, aheadMs: 0 });
      const dead = {
        returning: await factsOf(site, returning),
        reconciled: await factsOf(site, reconciled),
        gone: await factsOf(site, gone),
      };

      gate = start();
      const firstReturn = await watchReturn(site, gate, returning);
      await reconcileSoon(gate, { site, networks: networks.reconciled, purchases: [reconciled, gone] });
      const reconciledGone = await factsOf(site, gone);
      deaths.push({
        step,
        dead,
        returning: firstReturn,
        reconciled: await watchReturn(site, gate, reconciled),
        gone: { reconciled: reconciledGone, expired: reconciledGone },
      });
    }

    await site.expireProofs();
    await reconcileLater(gate, { site, networks: networks.gone, purchases: goneForGood });
    for (const [index, death] of deaths.entries()) {
      const gone = goneForGood[index];
      if (gone !== undefined) death.gone.expired = await factsOf(site, gone);
    }
    return { steps, deaths };
  } finally {
    for (const one of gates) await one.end();
    await site.close();
  }
};
