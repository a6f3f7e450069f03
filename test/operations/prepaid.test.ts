import { afterAll, beforeAll, expect, it } from 'vitest';
import { createUsageTags } from '../../src/accounts/usage-tags.ts';
import { findReplay, openPrepaid } from '../../src/operations/prepaid.ts';
import type { Store } from '../../src/store/store.ts';
import { addAccount, runningJob, start, type Owner } from '../store/builders.ts';
import { testEngines, type TestStore } from '../store/open-test-store.ts';

let data: TestStore;
let store: Store;
let owner: Owner;

beforeAll(async () => {
  const [engine] = testEngines();
  if (engine === undefined) throw new Error('there is no engine');
  data = await engine.create();
  ({ store } = data);
  owner = await addAccount(store);
});
afterAll(() => data.remove());

it('an idempotency key is kept for 48 hours, to the millisecond', async () => {
  const lifeMs = 48 * 3_600_000;
  const at = (now: number) => ({ store, clock: { now: () => now }, usageTags: createUsageTags({ store }) });
  const idempotency = { endpoint: 'create_image', key: 'order-1', bodyHash: 'body' };
  const open = (now: number) =>
    openPrepaid(
      at(now),
      { caller: {} },
      { job: runningJob(owner, { kind: 'image' }), hold: 1n, idempotency },
    );
  const replayAt = (now: number) =>
    findReplay(at(now), { accountId: owner.accountId, idempotency, payment: null });

  const first = await open(start);
  if (first.outcome !== 'opened') throw new Error(first.outcome);
  const last = start + lifeMs - 1;
  expect(await replayAt(last)).toMatchObject({ outcome: 'replayed', job: { id: first.job.id } });
  expect(await open(last)).toMatchObject({ outcome: 'replayed', job: { id: first.job.id } });
  expect(await replayAt(start + lifeMs)).toBeNull();
  const second = await open(start + lifeMs);
  expect(second.outcome).toBe('opened');
});
