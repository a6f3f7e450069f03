import { beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../src/kit/clock.ts';
import { createSecretVault } from '../../src/mounts/secret-vault.ts';
import type { Store, ToolSecret } from '../../src/store/store.ts';
import { openTestStoreHere } from '../operator/open-test-store-here.ts';
import { createAccount } from '../store/builders.ts';

const [key, otherKey] = ['0a'.repeat(32), '0b'.repeat(32)];
const server = 'github';
const names = ['A', 'B'];

let store: Store;
let accountId: string;
beforeEach(async () => {
  store = await openTestStoreHere();
  ({ id: accountId } = await createAccount({ store, clock: systemClock }, { name: 'T', status: 'active' }));
});

const vaultOf = (...keys: string[]) => {
  const vault = createSecretVault(store, keys);
  return {
    ...vault,
    setAll: async (values: Record<string, string | null>): Promise<void> => {
      for (const [name, value] of Object.entries(values)) await vault.set({ accountId, server, name }, value);
    },
  };
};
const read = async (vault: ReturnType<typeof vaultOf>): Promise<Record<string, string>> => {
  const secrets = await vault.list({ accountId, server }, names);
  return Object.fromEntries(
    secrets.map((secret) => [secret.name, vault.open({ accountId, server }, secret)]),
  );
};

it('returns what was set, which the store does not have in clear', async () => {
  const vault = vaultOf(key);
  await vault.setAll({ A: 'a secret', B: 'ä\nb' });
  expect(await read(vault)).toEqual({ A: 'a secret', B: 'ä\nb' });
  const rows = await store.listToolSecrets({ accountId, server });
  expect(JSON.stringify(rows)).not.toMatch(/secret|YSBzZWNyZXQ/);
  await vault.setAll({ A: 'a secret' });
  // Nobody sees that it is the same.
  expect((await store.listToolSecrets({ accountId, server }))[0]?.sealed).not.toBe(rows[0]?.sealed);
});

it('removes what is null, and leaves the rest', async () => {
  const vault = vaultOf(key);
  await vault.setAll({ A: 'a', B: 'b' });
  await vault.setAll({ A: null });
  expect(await read(vault)).toEqual({ B: 'b' });
});

it('reads with former keys, and encrypts with the first one', async () => {
  await vaultOf(key).setAll({ A: 'old' });
  const rotated = vaultOf(otherKey, key);
  await rotated.setAll({ B: 'new' });
  expect(await read(rotated)).toEqual({ A: 'old', B: 'new' });
  expect(await read(vaultOf(otherKey))).toEqual({ B: 'new' });
});

it.each<[string, (secret: ToolSecret) => ToolSecret, string]>([
  ['of another name', (secret) => ({ ...secret, name: 'B' }), server],
  ['of another server', (secret) => secret, 'other'],
  [
    'that was changed',
    (secret) => ({ ...secret, sealed: Buffer.from(secret.sealed, 'base64').fill(0, 30).toString('base64') }),
    server,
  ],
])('refuses a row %s', async (_what, change, place) => {
  const vault = vaultOf(key);
  await vault.setAll({ A: 'a long secret' });
  const [row] = await store.listToolSecrets({ accountId, server });
  expect(() => vault.open({ accountId, server: place }, change(row!))).toThrow(/authenticate/);
});

it('refuses a row of another account', async () => {
  const vault = vaultOf(key);
  await vault.setAll({ A: 'a' });
  const [row] = await store.listToolSecrets({ accountId, server });
  expect(() => vault.open({ accountId: 'other', server }, row!)).toThrow(/authenticate/);
});
