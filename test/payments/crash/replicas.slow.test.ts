import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openCrashSite, type CrashSite, type Purchase } from './crash-site.ts';
import type { PayEnd } from './gate-commands.ts';
import { comeBack, payAtOnce } from './recover.ts';
import type { GateChild } from './start-gate.ts';
import { hasService } from '../../outside-services.ts';

const rounds = 20;

type Served = Extract<PayEnd, { kind: 'served' }>;

const servedOf = (ends: PayEnd[]): Served[] => ends.flatMap((end) => (end.kind === 'served' ? [end] : []));

const mayComeAgain = ({ kind, ...end }: PayEnd): boolean =>
  kind === 'served' || ('code' in end && /^payment_(?:in_progress|pending|unavailable)$/.test(end.code));

describe.runIf(hasService('PostgreSQL')).each(['base', 'solana'] as const)(
  'two processes that share a PostgreSQL and an account to settle from on %s',
  (chain) => {
    let site: CrashSite;
    let networks: Purchase['networks'];
    let replicas: [GateChild, GateChild];
    beforeAll(async () => {
      site = await openCrashSite({ chain, engine: 'postgres', facilitator: 'local' });
      networks = await site.createNetworks();
      replicas = [site.startGate(), site.startGate()];
      // Both have loaded everything when it matters that they are at it together.
      for (const replica of replicas) await comeBack(replica, await site.createPurchase('first', networks));
    });
    afterAll(async () => {
      for (const replica of replicas ?? []) await replica.end();
      await site?.close();
    });

    it('serve one proof, that comes to both at once, once, and charge it once', async () => {
      for (let round = 1; round <= rounds; round += 1) {
        const purchase = await site.createPurchase(`same ${round}`, networks);
        const ends = (
          await Promise.all(replicas.map((replica) => payAtOnce(replica, networks, [purchase, purchase])))
        ).flat();
        expect(ends).toHaveLength(4);
        expect(ends.filter((end) => !mayComeAgain(end))).toEqual([]);
        const served = servedOf(ends);
        expect(served.filter(({ replayed }) => !replayed)).toHaveLength(1);
        expect(new Set(served.map(({ result }) => result)).size).toBe(1);
        expect(new Set(served.map(({ transaction }) => transaction)).size).toBe(1);
        expect(await site.chargesOf(purchase)).toBe(1);
      }
    });

    it('settle twenty proofs that come at the same moment, each once', async () => {
      const purchases: Purchase[] = [];
      for (let index = 0; index < 20; index += 1)
        purchases.push(await site.createPurchase(`different ${index}`, networks));
      const shares = [purchases.slice(0, 10), purchases.slice(10)];
      const atOnce = await Promise.all(
        replicas.map((replica, index) => payAtOnce(replica, networks, shares[index] ?? [])),
      );
      expect(atOnce.flat().filter((end) => !mayComeAgain(end))).toEqual([]);

      const results: PayEnd[] = [];
      for (const [index, purchase] of purchases.entries()) {
        const ends = await comeBack(replicas[index % 2 === 0 ? 0 : 1], purchase);
        results.push(...ends.slice(-1));
      }
      const served = servedOf(results);
      expect(served).toHaveLength(20);
      expect(new Set(served.map(({ transaction }) => transaction)).size).toBe(20);
      for (const [index, purchase] of purchases.entries()) {
        expect(await site.chargesOf(purchase)).toBe(1);
        expect(await site.isPaidBy(served[index]?.transaction ?? '', purchase)).toBe(true);
      }
    });
  },
);
