import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createAuthenticate } from '../../src/accounts/authenticate.ts';
import { issueKey } from '../../src/accounts/keys.ts';
import { createLastUse } from '../../src/accounts/last-use.ts';
import { silentLog } from '../../src/kit/log.ts';
import { newId } from '../../src/kit/ids.ts';
import type { Store } from '../../src/store/store.ts';
import { addAccount } from '../store/builders.ts';
import { testEngines, type TestStore } from '../store/open-test-store.ts';

const minute = 60_000;
const noon = Date.UTC(2026, 10, 20, 12);

describe.each(testEngines())('the last use of a key on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  afterAll(() => data.remove());

  const start = () => {
    const clock = { at: noon, now: () => clock.at };
    const writeLastUse = vi.fn((input: Parameters<Store['writeLastUse']>[0]) => store.writeLastUse(input));
    const lastUse = createLastUse({ store: { writeLastUse }, log: silentLog });
    const config = { wallets: { terms: null } };
    const authenticate = createAuthenticate({ store, clock, config, lastUse });
    const use = (key: string) => authenticate(`Bearer ${key}`);
    return { clock, writeLastUse, lastUse, use };
  };
  const open = async () => {
    const { accountId } = await addAccount(store);
    const parts = { store, clock: { now: () => noon } };
    const issued = await issueKey(parts, { accountId, label: '', brand: 'test' });
    if (issued.outcome !== 'issued') throw new Error(issued.outcome);
    return { key: issued.key, keyId: issued.apiKey.id };
  };
  const shown = async (id: string) => (await store.getKey({ id, now: noon }))?.lastUsedAt;

  it('is unknown until it is written, and then told to the minute', async () => {
    const { key, keyId } = await open();
    const { keyId: unused } = await open();
    const { clock, lastUse, use } = start();
    clock.at = noon + 59_999;
    await use(key);
    expect(await shown(keyId)).toBeNull();
    await lastUse.write();
    expect([await shown(keyId), await shown(unused)]).toEqual([noon, null]);
  });

  it('of many calls is one write, and without calls there is none', async () => {
    const [one, other] = await Promise.all([open(), open()]);
    const { clock, writeLastUse, lastUse, use } = start();
    for (let call = 0; call < 20; call += 1) await use((call % 2 === 0 ? one : other).key);
    await lastUse.write();
    await lastUse.write();
    expect(writeLastUse.mock.calls).toEqual([[{ ids: [one.keyId, other.keyId], at: noon }]]);
    clock.at += minute;
    await use(one.key);
    await lastUse.write();
    expect([await shown(one.keyId), await shown(other.keyId)]).toEqual([noon + minute, noon]);
  });

  it('never goes back, whichever process writes later', async () => {
    const { key, keyId } = await open();
    const [ahead, behind] = [start(), start()];
    ahead.clock.at = noon + minute;
    await ahead.use(key);
    await behind.use(key);
    await ahead.lastUse.write();
    await behind.lastUse.write();
    expect(await shown(keyId)).toBe(noon + minute);
  });

  it('is left out beyond ten thousand keys between two writes, and a refused key is not used', async () => {
    const { key } = await open();
    const { writeLastUse, lastUse, use } = start();
    await expect(use('sk_test_unknown')).rejects.toMatchObject({ code: 'invalid_api_key' });
    expect(lastUse.noted.size).toBe(0);
    for (let other = 0; other < 10_000; other += 1) lastUse.noted.set(newId(), noon);
    await use(key);
    await lastUse.write();
    expect(writeLastUse.mock.calls.map(([{ ids }]) => ids.length)).toEqual([10_000]);
  });
});
