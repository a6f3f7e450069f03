import { assert, asyncProperty, array, bigInt } from 'fast-check';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/kit/clock.ts';
import { adjust, credit, maxEntryAmount, refund } from '../../../src/accounts/ledger/entries.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite-store.ts';
import { layStore } from '../../data-template.ts';
import { createAccount } from '../../store/builders.ts';

const openServices = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-ledger-'));
  const store = await openSqliteStore({ file: layStore(join(folder, 'causeway.db')), inThisThread: true });
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { store, clock: systemClock };
};

test('after any credits and adjustments the balance is the sum of the posted ones, and never below zero', async () => {
  const services = await openServices();
  const amounts = array(
    bigInt({ min: -maxEntryAmount, max: maxEntryAmount }).filter((amount) => amount !== 0n),
    {
      minLength: 1,
      maxLength: 20,
    },
  );
  await assert(
    asyncProperty(amounts, async (changes) => {
      const { id: accountId } = await createAccount(services, { name: 'Acme', status: 'active' });
      let expected = 0n;
      for (const [index, amount] of changes.entries()) {
        const post = amount > 0n && index % 2 === 0 ? credit : adjust;
        const posted = await post(services, { accountId, amount, reason: 'test' });
        expect(posted.outcome).toBe(expected + amount < 0n ? 'insufficient' : 'posted');
        if (posted.outcome === 'posted') expected += amount;
      }
      expect((await services.store.getAccount(accountId))?.balance).toBe(expected);
    }),
    { numRuns: 30 },
  );
  expect((await services.store.checkLedger()).problems).toEqual([]);
});

test.each([0n, -1n, maxEntryAmount + 1n])('%s is no amount to credit or refund', async (amount) => {
  const services = await openServices();
  const { id: accountId } = await createAccount(services, { name: 'Acme', status: 'active' });
  await expect(credit(services, { accountId, amount, reason: 'test' })).rejects.toThrow(RangeError);
  await expect(refund(services, { jobId: 'none', amount, reason: 'test' })).rejects.toThrow(RangeError);
});

test('the maximum amount is posted in both directions; zero and larger amounts are refused', async () => {
  const services = await openServices();
  const { id: accountId } = await createAccount(services, { name: 'Acme', status: 'active' });
  const input = { accountId, reason: 'test' };
  expect(await credit(services, { ...input, amount: maxEntryAmount })).toMatchObject({ outcome: 'posted' });
  expect(await adjust(services, { ...input, amount: -maxEntryAmount })).toMatchObject({ outcome: 'posted' });
  for (const amount of [0n, maxEntryAmount + 1n, -maxEntryAmount - 1n])
    await expect(adjust(services, { ...input, amount })).rejects.toThrow(RangeError);
  expect((await services.store.getAccount(accountId))?.balance).toBe(0n);
});

test('no entry is posted without a reason', async () => {
  const services = await openServices();
  const { id: accountId } = await createAccount(services, { name: 'Acme', status: 'active' });
  await expect(adjust(services, { accountId, amount: 1n, reason: ' ' })).rejects.toThrow('a reason');
  expect((await services.store.checkLedger()).entries).toBe(0);
});

test('an account or job that does not exist is an outcome, not a fault', async () => {
  const services = await openServices();
  const input = { amount: 1n, reason: 'test' };
  expect(await credit(services, { ...input, accountId: 'none' })).toEqual({ outcome: 'no_account' });
  expect(await refund(services, { ...input, jobId: 'none' })).toEqual({ outcome: 'no_job' });
});
