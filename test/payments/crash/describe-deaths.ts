import { beforeAll, describe, expect, it } from 'vitest';
import type { Facts, Return } from './facts.ts';
import { killAtEveryStep, type Death, type Deaths, type KillOptions } from './kill-at-every-step.ts';
import type { PaymentState } from '../../../src/rules/payments.ts';

const allStates: readonly (PaymentState | null)[] = [
  null,
  'reserved',
  'verified',
  'produced',
  'broadcasting',
  'settled',
  'delivered',
];

const unowed: readonly (PaymentState | null)[] = [null, 'reserved', 'verified'];
const unsent: readonly (PaymentState | null)[] = [...unowed, 'produced'];
const paid: readonly (PaymentState | null)[] = ['settled', 'delivered'];

/** What is seen of each death, by its step: two of these tell where they differ. */
const byStep = <T>({ deaths }: Deaths, see: (death: Death) => T): Record<string, T> =>
  Object.fromEntries(deaths.map((death) => [death.step, see(death)]));

/** Where something happened that must not; to be empty. */
const where = <T>({ deaths }: Deaths, isWrong: (death: Death) => boolean, show: (death: Death) => T) =>
  Object.fromEntries(deaths.filter(isWrong).map((death) => [death.step, show(death)]));

const returnsOf = ({ returning, reconciled }: Death): Return[] => [returning, reconciled];

const endOf = ({ ends, after }: Return) => ({
  answer: ends.at(-1)?.kind,
  charges: after.charges,
  isPaid: paid.includes(after.state) && after.isPaidByTransaction,
});

/** Whether money that moved is on record as settled, with the transaction that moved it, and no other is. */
const isTrue = ({ state, charges, credits, isPaidByTransaction }: Facts): boolean =>
  paid.includes(state)
    ? charges === 1 && credits !== 0 && isPaidByTransaction
    : charges === 0 && (credits ?? 0) === 0;

export interface DeathsOptions extends KillOptions {
  /** Completes "a gateway ...". */
  situation: string;
  /** Steps without which the recording would be no payment. */
  expected: readonly string[];
  /** In which payments are left by the deaths; absent: all. */
  states?: readonly (PaymentState | null)[];
}

/** The promises to buyers, over every death of a process at the steps of a payment. */
export const describeDeaths = (options: DeathsOptions): void => {
  describe.each([options])('a gateway $situation', () => {
    let all: Deaths;
    beforeAll(async () => {
      all = await killAtEveryStep(options);
    });

    it('has died before and after all that it writes down and asks, in every state of a payment', () => {
      expect(all.deaths.map(({ step }) => step)).toEqual(
        expect.arrayContaining(options.expected.flatMap((name) => [`before ${name}`, `after ${name}`])),
      );
      expect(all.steps).toEqual(expect.arrayContaining(all.deaths.map(({ step }) => step)));
      const states = new Set(all.deaths.map(({ dead }) => dead.returning.state));
      expect([...states]).toEqual(options.states ?? allStates);
    });

    it('has charged nobody whose result was not stored, and whose settlement was not on record', () => {
      const charged = all.deaths.flatMap(({ dead }) =>
        Object.values(dead).filter(({ charges }) => charges > 0),
      );
      expect(charged.length).toBeGreaterThan(0);
      for (const { state, result } of charged) {
        expect(unsent).not.toContain(state);
        expect(result).not.toBeNull();
      }
    });

    it('serves the buyer who comes back with the same proof, and has charged him once', () => {
      const served = { answer: 'served', charges: 1, isPaid: true };
      expect(byStep(all, (death) => returnsOf(death).map(endOf))).toEqual(
        byStep(all, () => [served, served]),
      );
    });

    it('hands out the one result that was stored before the money moved, with its transaction', () => {
      for (const death of all.deaths)
        for (const { before, ends, after, replay } of returnsOf(death)) {
          const { step } = death;
          const { result, transaction } = after;
          const served = { kind: 'served', result, transaction };
          expect({ step, end: ends.at(-1), replay }).toMatchObject({
            step,
            end: served,
            replay: { ...served, replayed: true },
          });
          if (before.result !== null) expect({ step, result }).toEqual({ step, result: before.result });
        }
    });

    it('has raised a balance once for each payment that is on record as settled, and for no other', () => {
      const isBalanced = ({ state, credits }: Facts): boolean =>
        credits === null || credits === (paid.includes(state) ? 1 : 0);
      const allFacts = ({ dead, reconciled, returning, gone }: Death): Facts[] => [
        ...Object.values(dead),
        ...[reconciled, returning].flatMap(({ before, after }) => [before, after]),
        ...Object.values(gone),
      ];
      expect(where(all, (death) => !allFacts(death).every(isBalanced), allFacts)).toEqual({});
    });

    it('takes no proof for another request', () => {
      const refused = { kind: 'refused', code: 'payment_conflict' };
      expect(byStep(all, (death) => returnsOf(death).map(({ other }) => other))).toEqual(
        byStep(all, () => [refused, refused]),
      );
    });

    it('leaves nothing that reconciling alone does not free, find paid or keep for the buyer', () => {
      const rested = ({ dead, reconciled, gone }: Death) => [
        { dead: dead.reconciled, now: reconciled.before },
        { dead: dead.gone, now: gone.reconciled },
      ];
      const isRested = ({ dead, now }: { dead: Facts; now: Facts }): boolean => {
        if (!isTrue(now)) return false;
        if (unowed.includes(dead.state)) return now.state === null || now.state === 'rejected';
        if (dead.state === 'produced') return now.state === 'produced';
        // What never left the dead process may wait for its buyer until the proof has run out.
        return paid.includes(now.state) || (dead.charges === 0 && now.state === 'unknown');
      };
      expect(
        where(
          all,
          (death) => !rested(death).every(isRested),
          (death) => rested(death).map(({ now }) => now),
        ),
      ).toEqual({});
    });

    it('does not charge a buyer who never comes back for what was not on its way', () => {
      const isForgiven = ({ state, charges }: Facts): boolean =>
        charges === 0 && [null, 'rejected', 'failed'].includes(state);
      const unsentDeaths = all.deaths.filter(({ dead }) => unsent.includes(dead.gone.state));
      expect(unsentDeaths.length).toBeGreaterThan(0);
      expect(
        where(
          { ...all, deaths: unsentDeaths },
          ({ gone }) => !isForgiven(gone.expired),
          ({ gone }) => gone.expired,
        ),
      ).toEqual({});
    });

    it('leaves no payment without a true end once its proof has run out', () => {
      const hasEnd = (facts: Facts): boolean =>
        isTrue(facts) && (paid.includes(facts.state) || [null, 'rejected', 'failed'].includes(facts.state));
      expect(
        where(
          all,
          ({ gone }) => !hasEnd(gone.expired),
          ({ gone }) => gone.expired,
        ),
      ).toEqual({});
    });
  });
};
