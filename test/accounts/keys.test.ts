import { assert, property, stringMatching } from 'fast-check';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sha256 } from '../../src/kit/ids.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import { layStore } from '../data-template.ts';
import { createAccount } from '../store/builders.ts';
import { displayKey, issueKey, revokeKey } from '../../src/accounts/keys.ts';

const openServices = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-accounts-'));
  const store = await openSqliteStore({ file: layStore(join(folder, 'causeway.db')), inThisThread: true });
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  let now = 1_000;
  return { store, clock: { now: () => (now += 1) } };
};

const listKeys = ({ store, clock }: Awaited<ReturnType<typeof openServices>>, accountId: string) =>
  store.listKeys({ accountId, limit: 100, before: null, now: clock.now() });

test('a key is found by its hash, and the file holds the key nowhere', async () => {
  const services = await openServices();
  const { id: accountId } = await createAccount(services, { name: 'Acme', status: 'active' });
  const issued = await issueKey(services, { accountId, label: 'first', brand: 'acme' });
  if (issued.outcome !== 'issued') throw new Error(issued.outcome);
  expect(issued.key).toMatch(/^sk_acme_[0-9A-Za-z]{43}$/);
  const found = await services.store.findKey(sha256(issued.key));
  expect(found).toMatchObject({ key: { id: issued.apiKey.id }, account: { id: accountId, name: 'Acme' } });
  const kept = [found?.key, await listKeys(services, accountId)];
  expect(
    JSON.stringify(kept, (_name, value: unknown) => (typeof value === 'bigint' ? `${value}` : value)),
  ).not.toContain(issued.key.slice(8, -4));
});

test('keys are issued to active accounts only', async () => {
  const services = await openServices();
  const { id: accountId } = await createAccount(services, { name: 'Acme', status: 'pending' });
  const input = { accountId, label: '', brand: 'causeway' };
  expect(await issueKey(services, input)).toMatchObject({
    outcome: 'not_active',
    account: { status: 'pending' },
  });
  await services.store.setAccountStatus({ id: accountId, status: 'active', now: 1 });
  expect(await issueKey(services, input)).toMatchObject({ outcome: 'issued' });
  await services.store.setAccountStatus({ id: accountId, status: 'suspended', now: 2 });
  expect(await issueKey(services, input)).toMatchObject({ outcome: 'not_active' });
  expect(await issueKey(services, { ...input, accountId: 'none' })).toEqual({ outcome: 'no_account' });
  expect(await listKeys(services, accountId)).toHaveLength(1);
});

test('a key is revoked by its id or by the whole key, once', async () => {
  const services = await openServices();
  const { id: accountId } = await createAccount(services, { name: 'Acme', status: 'active' });
  const issued = await issueKey(services, { accountId, label: '', brand: 'causeway' });
  if (issued.outcome !== 'issued') throw new Error(issued.outcome);
  const revoked = await revokeKey(services, issued.key);
  expect(revoked).toMatchObject({ id: issued.apiKey.id, revokedAt: expect.any(Number) });
  expect(await revokeKey(services, issued.apiKey.id)).toEqual(revoked);
  expect(await revokeKey(services, issued.apiKey.display)).toBeNull();
});

test('the display form of a key hides 35 of its characters', () => {
  assert(
    property(stringMatching(/^sk_[a-z]{2,20}_[0-9A-Za-z]{43}$/), (key) => {
      const [start = '', end = ''] = displayKey(key).split('…');
      expect(key.startsWith(start) && key.endsWith(end)).toBe(true);
      expect(key.length - start.length - end.length).toBe(35);
    }),
  );
});
