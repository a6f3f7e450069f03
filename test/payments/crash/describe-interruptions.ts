import { beforeAll, describe, expect, it } from 'vitest';
import type { ChainName } from '../support/buyer.ts';
import { killWhileReconciling, type Interruptions } from './kill-while-reconciling.ts';

/** The promises to buyers, over every death of a process that looks after payments on that chain. */
export const describeInterruptions = (chain: ChainName): void => {
  describe.each([chain])('a process that is killed while it reconciles (%s)', () => {
    let interruptions: Interruptions;
    beforeAll(async () => {
      interruptions = await killWhileReconciling(chain);
    });

    it('was at work on payments that were sent, not sent and of unknown end', () => {
      const steps = interruptions.soon.map(({ step }) => step);
      for (const state of ['settled', 'unknown'])
        expect(steps).toEqual(
          expect.arrayContaining([`before advancePayment to ${state}`, `after advancePayment to ${state}`]),
        );
      for (const { before } of interruptions.soon)
        expect(before).toMatchObject({
          unsent: { state: 'broadcasting', charges: 0 },
          unwritten: { state: 'broadcasting', charges: 1 },
          unknown: { state: 'unknown', charges: 1 },
        });
    });

    it('leaves payments that the next one finds paid, or keeps for their buyers', () => {
      const settled = { state: 'settled', charges: 1, isPaidByTransaction: true };
      for (const { step, reconciled } of interruptions.soon)
        expect({ step, ...reconciled }).toMatchObject({
          step,
          unsent: { state: 'unknown', charges: 0 },
          unwritten: settled,
          unknown: settled,
        });
    });

    it('leaves buyers who are served with their proof, charged once and for one request', () => {
      for (const { step, returns } of interruptions.soon)
        for (const { ends, after, before, other } of Object.values(returns)) {
          expect({ step, end: ends.at(-1), after, other }).toMatchObject({
            step,
            end: { kind: 'served', result: before.result },
            after: { state: 'delivered', charges: 1, isPaidByTransaction: true },
            other: { kind: 'refused', code: 'payment_conflict' },
          });
        }
    });

    it('leaves nothing open once the proofs have run out, and nobody charged', () => {
      const { steps, ends } = interruptions.late;
      expect(steps).toEqual(
        expect.arrayContaining(['before advancePayment to failed', 'after advancePayment to failed']),
      );
      expect(ends.length).toBeGreaterThan(steps.length);
      for (const end of ends) expect(end).toMatchObject({ state: 'failed', charges: 0 });
    });
  });
};
