import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../src/kit/ids.ts';
import type { Risk, Store } from '../../src/store/store.ts';
import { assertSoundBooks, newPayment, start, worker } from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';
import type { PaymentState } from '../../src/rules/payments.ts';

const limits = { all: 100n, strangers: 50n, each: 10n };

/** A payment that is settled after the work: of a payer, from a network, for so much. */
interface Asked {
  payer?: string;
  client?: string;
  credit?: bigint;
  now?: number;
}

describe.each(testEngines())('payments that are settled after the work on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  let other: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
    other = await data.openAnother();
  });
  // Each test has the whole bound to itself.
  let now = start;
  beforeEach(() => (now += 10 ** 9));
  afterEach(() => assertSoundBooks(store));
  afterAll(() => data.remove());

  const ask = async (
    { payer = newId(), client = newId(), credit = 10n, now: at = now }: Asked = {},
    handle = store,
  ): Promise<{ outcome: string | undefined; identity: string }> => {
    const { payment } = await handle.reservePayment(newPayment({ credit, now: at }));
    const { identity } = payment;
    const risk: Risk = { limits, since: at - 86_400_000, client, accountId: null };
    const verified = await handle.verifyPayment({
      change: {
        identity,
        from: ['reserved'],
        to: 'verified',
        owner: worker,
        set: { source: payer, client },
        now: at,
      },
      source: payer,
      funds: 10n ** 18n,
      maxOpen: 30,
      reverts: { limit: 3, since: at - 3_600_000 },
      risk,
    });
    return { outcome: verified?.outcome, identity };
  };
  const outcomeOf = async (asked?: Asked): Promise<string | undefined> => (await ask(asked)).outcome;
  const end = async (identity: string, to: PaymentState, reverts = 0): Promise<void> => {
    await store.advancePayment({
      identity,
      from: ['verified'],
      to: 'produced',
      set: { settledAmount: 1n },
      now,
    });
    await store.advancePayment({ identity, from: ['produced'], to, set: { reverts }, now });
  };
  /** A payer with a settled payment. */
  const knownPayer = async (): Promise<string> => {
    const payer = newId();
    await end((await ask({ payer, credit: 1n })).identity, 'settled');
    return payer;
  };

  it('are bounded in money and not in number, also of callers that come at once', async () => {
    const cheap = Array.from({ length: 40 }, () => outcomeOf({ credit: 1n }));
    expect(new Set(await Promise.all(cheap))).toEqual(new Set(['verified']));
    // Of strangers, 10 of 50 are left.
    const rest = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => ask({ credit: 5n }, index % 2 === 0 ? store : other)),
    );
    expect(rest.filter(({ outcome }) => outcome === 'verified')).toHaveLength(2);
    expect(rest.filter(({ outcome }) => outcome === 'too_risky')).toHaveLength(6);
  });

  it('of one payer, and of one network, are a tenth at most', async () => {
    const [payer, client] = [newId(), newId()];
    expect(await outcomeOf({ payer, credit: 6n })).toBe('verified');
    expect(await outcomeOf({ payer, credit: 5n })).toBe('too_risky');
    expect(await outcomeOf({ payer, credit: 4n })).toBe('verified');
    expect(await outcomeOf({ client, credit: 6n })).toBe('verified');
    expect(await outcomeOf({ client, credit: 5n })).toBe('too_risky');
    expect(await outcomeOf({ client, credit: 4n })).toBe('verified');
    expect(await outcomeOf({ credit: 11n })).toBe('too_risky');
  });

  it('keep half of the bound for payers with a settled payment', async () => {
    const known = await Promise.all(Array.from({ length: 6 }, knownPayer));
    for (let count = 0; count < 5; count += 1) expect(await outcomeOf()).toBe('verified');
    expect(await outcomeOf()).toBe('too_risky');
    for (const payer of known.slice(1)) expect(await outcomeOf({ payer })).toBe('verified');
    expect(await outcomeOf({ payer: known[0]! })).toBe('too_risky');
  });

  it('are closed for a day to the payer and the network of one that failed, and to nobody else', async () => {
    const [payer, client] = [newId(), newId()];
    const failed = await ask({ payer, client, credit: 1n });
    await end(failed.identity, 'failed');
    expect(await outcomeOf({ payer })).toBe('too_risky');
    expect(await outcomeOf({ client })).toBe('too_risky');
    expect(await outcomeOf()).toBe('verified');
    const later = now + 86_400_001;
    expect(await outcomeOf({ payer, credit: 1n, now: later })).toBe('verified');
    expect(await outcomeOf({ client, credit: 1n, now: later })).toBe('verified');
    // One that was reverted has failed, as far as its payer is concerned.
    const reverted = await ask({ credit: 1n });
    await end(reverted.identity, 'unknown', 1);
    expect(await outcomeOf({ payer: (await store.getPayment(reverted.identity))?.source ?? '' })).toBe(
      'too_risky',
    );
  });

  it('that failed count as lost for a day, and those that were settled or given back do not count', async () => {
    const asked = await Promise.all(Array.from({ length: 5 }, () => ask()));
    expect(await outcomeOf()).toBe('too_risky');
    await end(asked[0]!.identity, 'settled');
    await store.advancePayment({ identity: asked[1]!.identity, from: ['verified'], to: 'rejected', now });
    await end(asked[2]!.identity, 'failed');
    expect([await outcomeOf(), await outcomeOf(), await outcomeOf()]).toEqual([
      'verified',
      'verified',
      'too_risky',
    ]);
  });

  it('do not tell the network of their caller for longer than two days', async () => {
    const client = newId();
    const { identity } = await ask({ client });
    await end(identity, 'failed');
    const prune = (deliveredBefore: number) =>
      store.prunePayments({ rejectedBefore: start, deliveredBefore, limit: 100 });
    await prune(now);
    expect(await store.getPayment(identity)).toMatchObject({ client });
    await prune(now + 1);
    expect(await store.getPayment(identity)).toMatchObject({ client: null });
  });
});
