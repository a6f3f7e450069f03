import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { inAccountLease } from '../../../src/payments/refunds/refund-payment.ts';
import type { Store } from '../../../src/store/store.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';

const sender = 'eip155:8453:0xwallet';
const leaseMs = 60;

describe.each(testEngines())('the turn of a refund on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  let time: number;
  let takes: number;
  beforeEach(async () => {
    data = await create();
    ({ store } = data);
    time = 1_000_000;
    takes = 0;
  });
  afterEach(() => data.remove());

  const run = <T>(work: (isOurs: () => boolean) => Promise<T>) =>
    inAccountLease(
      {
        store: {
          takeAccountLease: async (input) => {
            const isTaken = await store.takeAccountLease(input);
            takes += 1;
            return isTaken;
          },
          endAccountLease: (input) => store.endAccountLease(input),
        },
        clock: { now: () => time },
        timings: { leaseMs, leaseWaitMs: 0 },
      },
      { sender, signal: new AbortController().signal },
      work,
    );
  const othersGetIt = (): Promise<boolean> =>
    store.takeAccountLease({ sender, owner: 'other', until: time + leaseMs, now: time });
  /** One that began after this was called: the first to be counted may have begun before. */
  const nextRenewal = async (): Promise<void> => {
    const before = takes;
    await vi.waitFor(() => expect(takes).toBeGreaterThan(before + 1), { timeout: 60_000, interval: 2 });
  };

  it('is kept for as long as the work takes, and over with it', async () => {
    await run(async (isOurs) => {
      for (let step = 0; step < 4; step += 1) {
        time += leaseMs / 2;
        await nextRenewal();
        expect(isOurs()).toBe(true);
        expect(await othersGetIt()).toBe(false);
      }
    });
    expect(await othersGetIt()).toBe(true);
  });

  it('is over with work that fails, too', async () => {
    const failing = run(async () => {
      throw new Error('no node');
    });
    await expect(failing).rejects.toThrow('no node');
    expect(await othersGetIt()).toBe(true);
  });

  it('is not taken again once it ran out', async () => {
    await run(async (isOurs) => {
      time += leaseMs;
      expect(isOurs()).toBe(false);
      expect(await othersGetIt()).toBe(true);
      await store.endAccountLease({ sender, owner: 'other' });
      const before = takes;
      await new Promise((resolve) => setTimeout(resolve, 2 * leaseMs));
      expect([takes, isOurs()]).toEqual([before, false]);
    });
  });

  it('is not had while another one keeps it', async () => {
    await othersGetIt();
    expect(await run(async () => 'done')).toBeNull();
    time += leaseMs;
    expect(await run(async () => 'done')).toEqual({ value: 'done' });
  });
});
