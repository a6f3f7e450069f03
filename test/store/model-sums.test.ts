import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ModelSum, Store } from '../../src/store/store.ts';
import { addAccount, assertSoundBooks, finishing, opening, openJob, runningJob } from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

const day = 86_400_000;
const nothing = { done: 0, failed: 0, charged: 0n, refunded: 0n, cost: 0n, uncosted: 0 };

describe.each(testEngines())('sums of models on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  afterEach(() => assertSoundBooks(store));
  afterAll(() => data.remove());

  it('of whole days equal those of the single jobs, and tell how many have no known cost', async () => {
    const ended = fc.record({
      at: fc.nat(3 * day - 1),
      model: fc.constantFrom('a', 'b'),
      kind: fc.constantFrom('chat' as const, 'responses' as const),
      charge: fc.option(fc.bigInt(0n, 50n)),
      cost: fc.option(fc.bigInt(0n, 60n)),
      isRefunded: fc.boolean(),
    });
    let round = 0;
    const property = fc.asyncProperty(fc.array(ended, { maxLength: 8 }), async (jobs) => {
      // Each run has days of its own.
      const from = (round += 10) * day;
      const owner = await addAccount(store);
      const wanted = new Map<string, ModelSum>();
      for (const { at, model, kind, charge, cost, isRefunded } of jobs) {
        const now = from + at;
        const id = await openJob(store, opening(runningJob(owner, { model, kind }), { now }));
        const charged = charge ?? 0n;
        const end = charge === null ? ({ status: 'failed', charge: 0n } as const) : { charge, cost };
        await store.finishJob(finishing(id, { ...end, now }));
        const refunded = isRefunded ? charged : 0n;
        if (refunded > 0n)
          await store.refundJob({ entryId: randomUUID(), jobId: id, amount: refunded, note: null, now });
        const sum = wanted.get(model) ?? { model, ...nothing };
        wanted.set(model, {
          model,
          done: sum.done + (charge === null ? 0 : 1),
          failed: sum.failed + (charge === null ? 1 : 0),
          charged: sum.charged + charged,
          refunded: sum.refunded + refunded,
          cost: sum.cost + (charge === null ? 0n : (cost ?? 0n)),
          uncosted: sum.uncosted + (charge !== null && cost === null ? 1 : 0),
        });
      }
      const found = await store.sumModels({ from, to: from + 3 * day });
      expect(found).toEqual([...wanted.values()].sort((one, other) => (one.model < other.model ? -1 : 1)));
      expect(await store.sumModels({ from: from + 3 * day, to: from + 9 * day })).toEqual([]);
    });
    await fc.assert(property, { numRuns: 15 });
  });
});
