import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, type Clock } from '../../../src/kit/clock.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { createSenderTurns } from '../../../src/purchases/x402/x402-sender-turns.ts';
import type { Store } from '../../../src/store/store.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';

const wait = { signal: new AbortController().signal, patienceMs: 2_000 };

describe.each(testEngines())('the turn to send from an account, on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  afterAll(() => data.remove());

  const turnsOf = (owner: string, options: { clock?: Clock; store?: Store } = {}) =>
    createSenderTurns({ store, owner, clock: systemClock, log: silentLog, ...options });

  it('is had by one process at a time', async () => {
    const sender = 'eip155:1:0xshared';
    let inside = 0;
    let most = 0;
    const work = async (owner: string): Promise<void> => {
      const turn = turnsOf(owner)(sender);
      for (let round = 0; round < 5; round += 1) {
        await turn.take(wait);
        inside += 1;
        most = Math.max(most, inside);
        await new Promise((resolve) => setTimeout(resolve, 5));
        inside -= 1;
        await turn.end();
      }
    };
    await Promise.all(['one', 'two', 'three'].map(work));
    expect(most).toBe(1);
  });

  it('says whether somebody else may have had it in between', async () => {
    const turn = turnsOf('one')('eip155:1:0xkept');
    expect(await turn.take(wait)).toEqual({ isKept: false });
    expect(await turn.take(wait)).toEqual({ isKept: true });
    await turn.end();
    expect(await turn.take(wait)).toEqual({ isKept: false });
    await turn.end();
  });

  it('runs out with the process that has it', async () => {
    const sender = 'eip155:1:0xdead';
    await turnsOf('dead')(sender).take(wait);
    const later = { now: () => systemClock.now() + 11_000 };
    const turn = turnsOf('heir', { clock: later })(sender);
    expect(await turn.take(wait)).toEqual({ isKept: false });
    expect(await store.takeSenderTurn({ sender, owner: 'dead', until: later.now(), now: later.now() })).toBe(
      false,
    );
  });

  it('is gone on without when the process that has it hangs, or the caller has no more time', async () => {
    const sender = 'eip155:1:0xhanging';
    await turnsOf('hanging')(sender).take(wait);
    const turn = turnsOf('patient')(sender);
    expect(await turn.take({ ...wait, signal: AbortSignal.abort() })).toEqual({ isKept: false });
    expect(await turn.take(wait)).toEqual({ isKept: false });
    // What was not taken is not ended for its owner.
    await turn.end();
    expect(await store.takeSenderTurn({ sender, owner: 'third', until: 0, now: systemClock.now() })).toBe(
      false,
    );
  });

  it('is gone on without when the store fails', async () => {
    const failing = {
      ...store,
      takeSenderTurn: () => Promise.reject(new Error('no')),
      endSenderTurn: () => Promise.reject(new Error('no')),
    };
    const turn = turnsOf('unlucky', { store: failing })('eip155:1:0xunlucky');
    expect(await turn.take(wait)).toEqual({ isKept: false });
    await turn.end();
  });
});
