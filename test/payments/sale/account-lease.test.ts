import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, type Clock } from '../../../src/kit/clock.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { createAccountLeases } from '../../../src/payments/sale/account-lease.ts';
import type { Store } from '../../../src/store/store.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';

const wait = { signal: new AbortController().signal, waitMs: 60_000 };

const engines = testEngines();

describe.each(engines)('the lease of an account to send from, on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  afterAll(() => data.remove());

  const leasesOf = (owner: string, options: { clock?: Clock; store?: Store } = {}) =>
    createAccountLeases({ store, owner, clock: systemClock, log: silentLog, ...options });

  it('is had by one process at a time', async () => {
    const sender = 'eip155:1:0xshared';
    // It does not expire, however long the machine takes.
    const clock = { now: () => 1_000 };
    let inside = 0;
    let most = 0;
    const work = async (owner: string): Promise<void> => {
      const lease = leasesOf(owner, { clock })(sender);
      for (let round = 0; round < 5; round += 1) {
        await lease.take(wait);
        inside += 1;
        most = Math.max(most, inside);
        const stranger = { sender, owner: 'stranger', until: 2_000, now: clock.now() };
        expect(await store.takeAccountLease(stranger)).toBe(false);
        inside -= 1;
        await lease.release();
      }
    };
    await Promise.all(['one', 'two', 'three'].map(work));
    expect(most).toBe(1);
  });

  it('tells whether another process may have had it in between', async () => {
    const lease = leasesOf('one')('eip155:1:0xkept');
    expect(await lease.take(wait)).toEqual({ isKept: false });
    expect(await lease.take(wait)).toEqual({ isKept: true });
    await lease.release();
    expect(await lease.take(wait)).toEqual({ isKept: false });
    await lease.release();
  });

  it('expires with the process that has it', async () => {
    const sender = 'eip155:1:0xdead';
    await leasesOf('dead')(sender).take(wait);
    const later = { now: () => systemClock.now() + 11_000 };
    const lease = leasesOf('heir', { clock: later })(sender);
    expect(await lease.take(wait)).toEqual({ isKept: false });
    expect(
      await store.takeAccountLease({ sender, owner: 'dead', until: later.now(), now: later.now() }),
    ).toBe(false);
  });

  it('is not waited for any longer when the process that has it hangs, or the caller has no more time', async () => {
    const sender = 'eip155:1:0xhanging';
    await leasesOf('hanging')(sender).take(wait);
    const lease = leasesOf('patient')(sender);
    expect(await lease.take({ ...wait, signal: AbortSignal.abort() })).toEqual({ isKept: false });
    expect(await lease.take({ ...wait, waitMs: 50 })).toEqual({ isKept: false });
    // A lease that was not taken is not released for its owner.
    await lease.release();
    expect(await store.takeAccountLease({ sender, owner: 'third', until: 0, now: systemClock.now() })).toBe(
      false,
    );
  });

  it('is free again after a settlement whose time was over before it', async () => {
    const sender = 'eip155:1:0xover';
    let now = 1_000;
    const clock = { now: () => now };
    const lease = leasesOf('one', { clock })(sender);
    await lease.take(wait);
    now += 3_000;
    expect(await lease.take({ ...wait, signal: AbortSignal.abort() })).toEqual({ isKept: false });
    await lease.release();
    expect(await store.takeAccountLease({ sender, owner: 'other', until: now + 5_000, now })).toBe(true);
  });

  it('is not needed when the store fails', async () => {
    const failing = {
      ...store,
      takeAccountLease: () => Promise.reject(new Error('no')),
      endAccountLease: () => Promise.reject(new Error('no')),
    };
    const lease = leasesOf('unlucky', { store: failing })('eip155:1:0xunlucky');
    expect(await lease.take(wait)).toEqual({ isKept: false });
    await lease.release();
  });
});
