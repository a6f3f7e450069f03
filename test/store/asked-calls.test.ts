import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AskedCall, Store } from '../../src/store/store.ts';
import {
  addAccount,
  assertSoundBooks,
  idempotencyKey,
  opening,
  openWithJob,
  runningJob,
  start,
  type Owner,
} from './builders.ts';
import { connectAssistant } from './connect-assistant.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

const life = 600_000;

describe.each(testEngines())('on $kind, a call that needs a confirmation', ({ create }) => {
  let data: TestStore;
  let store: Store;
  let other: Store;
  let owner: Owner;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
    other = await data.openAnother();
  });
  beforeEach(async () => {
    const { accountId } = await addAccount(store, { balance: 1_000_000n });
    const limits = { budgetDay: 500_000n };
    const { connectionId } = await connectAssistant(store, { accountId, now: start, limits });
    owner = { accountId, keyId: connectionId };
  });
  afterAll(() => data.remove());

  const ask = ({ most = 100n, callHash = 'call', now = start, maxOfKey = 20 } = {}): Promise<AskedCall> =>
    store.askForCall({
      id: randomUUID(),
      ...owner,
      callHash,
      operation: 'create_image',
      model: 'imagemodel-1.0',
      most,
      expiresAt: now + life,
      now,
      maxOfKey,
    });
  const decide = (id: string, answer: 'confirmed' | 'declined' = 'confirmed', now = start) =>
    store.answerAskedCall({ id, answer, now, expiresAt: now + life });
  const open = ({ hold = 100n, now = start, needsConfirmed = 'call', at = store, key = '' } = {}) =>
    openWithJob(
      at,
      opening(runningJob(owner, { isBudgeted: true, leaseUntil: now + 30_000 }), {
        hold,
        now,
        needsConfirmed,
        idempotency: key === '' ? null : idempotencyKey(key),
      }),
    );

  it('opens one job by one confirmation, and holds nothing without', async () => {
    expect(await open()).toEqual({ outcome: 'unconfirmed' });
    const { id } = await ask();
    expect(await open()).toEqual({ outcome: 'unconfirmed' });
    expect(await store.checkLedger()).toMatchObject({ openHolds: expect.any(Number), problems: [] });
    expect(await decide(id)).toBe(true);
    expect(await open({ needsConfirmed: 'another' })).toEqual({ outcome: 'unconfirmed' });
    expect(await open()).toMatchObject({ outcome: 'opened' });
    expect(await open()).toEqual({ outcome: 'unconfirmed' });
    expect(await store.getAskedCall({ id, now: start })).toBeNull();
    await assertSoundBooks(store);
  });

  it('opens one job of many calls at the same moment on two gateways', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id } = await ask();
      await decide(id);
      const opened = await Promise.all(
        Array.from({ length: 8 }, (_, index) => open({ at: index % 2 === 0 ? store : other })),
      );
      expect(opened.filter(({ outcome }) => outcome === 'opened')).toHaveLength(1);
      expect(opened.filter(({ outcome }) => outcome === 'unconfirmed')).toHaveLength(7);
    }
  });

  it('is answered again under its idempotency key without another confirmation', async () => {
    const { id } = await ask();
    await decide(id);
    expect(await open({ key: 'again' })).toMatchObject({ outcome: 'opened' });
    expect(await open({ key: 'again' })).toMatchObject({ outcome: 'replayed' });
  });

  it('keeps its confirmation when the balance or a budget does not cover it', async () => {
    const { id } = await ask({ most: 600_000n });
    await decide(id);
    expect(await open({ hold: 600_000n })).toMatchObject({ outcome: 'insufficient' });
    expect(await open({ hold: 400_000n })).toMatchObject({ outcome: 'opened' });
  });

  it('is confirmed for ten minutes, and up to the price that the person saw', async () => {
    const { id } = await ask();
    expect(await decide(id, 'confirmed', start + life)).toBe(false);
    expect(await decide(id, 'confirmed', start + life - 1)).toBe(true);
    expect(await open({ hold: 101n })).toEqual({ outcome: 'unconfirmed' });
    expect(await open({ now: start + 2 * life - 1 })).toEqual({ outcome: 'unconfirmed' });
    expect(await open({ now: start + 2 * life - 2 })).toMatchObject({ outcome: 'opened' });
  });

  it('is the same question again until it has an end, another price, or is used', async () => {
    const first = await ask();
    expect(await ask({ now: start + 1 })).toEqual({ ...first, expiresAt: start + 1 + life });
    await decide(first.id, 'declined');
    expect(await decide(first.id)).toBe(false);
    expect(await ask({ now: start + 2 })).toMatchObject({ id: first.id, answer: 'declined' });
    const dearer = await ask({ most: 101n, now: start + 3 });
    expect(dearer).toMatchObject({ answer: null, most: 101n });
    expect(dearer.id).not.toBe(first.id);
    const later = await ask({ most: 50n, now: start + 3 + life });
    expect(later).toMatchObject({ answer: null, most: 50n });
    expect(later.id).not.toBe(dearer.id);
  });

  it('gives way to a new one when there are as many as may be, but a confirmed one last', async () => {
    const asked: AskedCall[] = [];
    const left = async () => {
      const found = asked.map(({ id }) => store.getAskedCall({ id, now: start + 4 }));
      return (await Promise.all(found)).map((call) => call !== null);
    };
    for (const index of [0, 1, 2, 3]) {
      asked.push(await ask({ callHash: `call ${index}`, now: start + index, maxOfKey: 2 }));
      if (index === 0) await decide(asked[0]!.id);
    }
    expect(await left()).toEqual([true, false, false, true]);
    await decide(asked[3]!.id, 'confirmed', start + 3);
    asked.push(await ask({ callHash: 'call 4', now: start + 4, maxOfKey: 2 }));
    expect(await left()).toEqual([false, false, false, true, true]);
  });

  it('is swept when its time is over', async () => {
    const { id } = await ask();
    await store.sweepAskedCalls({ now: start + life - 1, limit: 100 });
    expect(await store.getAskedCall({ id, now: start })).not.toBeNull();
    await store.sweepAskedCalls({ now: start + life, limit: 100 });
    expect(await store.getAskedCall({ id, now: start })).toBeNull();
  });

  it('opens exactly one of two jobs at once after a confirmation at their price, whatever came before', async () => {
    const step = fc.record({
      does: fc.constantFrom('ask', 'confirm', 'decline', 'open'),
      call: fc.constantFrom('a', 'b'),
      price: fc.bigInt({ min: 1n, max: 3n }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const round = randomUUID();
        const known = new Map<string, AskedCall>();
        for (const { does, call, price } of steps) {
          const callHash = `${round} ${call}`;
          const asked = known.get(call);
          if (does === 'ask') known.set(call, await ask({ callHash, most: price, maxOfKey: 1_000 }));
          else if (does === 'open') {
            const racing = [store, other].map((at) => open({ needsConfirmed: callHash, hold: price, at }));
            const opened = (await Promise.all(racing)).filter(({ outcome }) => outcome === 'opened');
            const isConfirmed = asked?.answer === 'confirmed' && asked.most >= price;
            expect(opened).toHaveLength(isConfirmed ? 1 : 0);
            if (isConfirmed) known.delete(call);
          } else if (asked !== undefined) {
            const answer = does === 'confirm' ? 'confirmed' : 'declined';
            expect(await decide(asked.id, answer)).toBe(asked.answer === null);
            known.set(call, { ...asked, answer: asked.answer ?? answer });
          }
        }
      }),
      { numRuns: 30 },
    );
  });
});
