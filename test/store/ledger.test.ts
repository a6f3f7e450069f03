import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StoreError } from '../../src/store/store-error.ts';
import type { NewEntry, Store } from '../../src/store/store.ts';
import {
  addAccount,
  assertSoundBooks,
  available,
  finishing,
  opening,
  openJob,
  runningJob,
  start,
} from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

const entry = (accountId: string, changes: Partial<NewEntry> = {}): NewEntry => ({
  id: randomUUID(),
  accountId,
  type: 'topup',
  amount: 500n,
  note: 'wire 17',
  now: start,
  ...changes,
});

describe.each(testEngines())('the ledger on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  afterAll(async () => {
    await assertSoundBooks(store);
    await data.remove();
  });

  const charged = async (balance: bigint, charge: bigint) => {
    const owner = await addAccount(store, { balance });
    const jobId = await openJob(store, opening(runningJob(owner), { hold: charge }));
    await store.finishJob(finishing(jobId, { charge }));
    return { ...owner, jobId };
  };
  const refund = (jobId: string, amount: bigint | null, entryId: string = randomUUID()) =>
    store.refundJob({ entryId, jobId, amount, note: null, now: start + 5 });

  it('adds a top-up and returns the new available balance', async () => {
    const { accountId } = await addAccount(store, { balance: 0n });
    const input = entry(accountId);
    expect(await store.postEntry(input)).toEqual({
      outcome: 'posted',
      available: 500n,
      entry: {
        id: input.id,
        accountId,
        type: 'topup',
        amount: 500n,
        jobId: null,
        note: 'wire 17',
        payment: null,
        createdAt: start,
      },
    });
  });

  it('keeps amounts exactly, up to the largest possible one', async () => {
    const { accountId } = await addAccount(store, { balance: 0n });
    const largest = 2n ** 63n - 1n;
    await store.postEntry(entry(accountId, { amount: largest }));
    expect(await available(store, accountId)).toBe(largest);
    await expect(store.postEntry(entry(accountId, { amount: 1n }))).rejects.toThrow(StoreError);
    await store.postEntry(entry(accountId, { type: 'adjustment', amount: -largest }));
    expect(await available(store, accountId)).toBe(0n);
  });

  it('refuses an adjustment that the available balance does not cover', async () => {
    const owner = await addAccount(store, { balance: 500n });
    await openJob(store, opening(runningJob(owner), { hold: 100n }));
    const { accountId } = owner;
    const below = entry(accountId, { type: 'adjustment', amount: -401n });
    expect(await store.postEntry(below)).toEqual({ outcome: 'insufficient', available: 400n });
    const exact = entry(accountId, { type: 'adjustment', amount: -400n });
    expect(await store.postEntry(exact)).toMatchObject({ outcome: 'posted', available: 0n });
    const audit = entry(accountId, { type: 'adjustment', amount: 0n });
    expect(await store.postEntry(audit)).toMatchObject({ outcome: 'posted', available: 0n });
  });

  it('says when there is no such account', async () => {
    expect(await store.postEntry(entry('nobody'))).toEqual({ outcome: 'no_account' });
    expect(await store.postEntry(entry('nobody', { type: 'adjustment', amount: -1n }))).toEqual({
      outcome: 'no_account',
    });
  });

  it('rejects a top-up that is not above zero', async () => {
    const { accountId } = await addAccount(store, { balance: 50n });
    await expect(store.postEntry(entry(accountId, { amount: 0n }))).rejects.toThrow(StoreError);
    await expect(store.postEntry(entry(accountId, { amount: -5n }))).rejects.toThrow(StoreError);
    expect(await available(store, accountId)).toBe(50n);
  });

  it('returns an entry that is posted again under its id, and adds it once', async () => {
    const { accountId } = await addAccount(store, { balance: 0n });
    const input = entry(accountId);
    const first = await store.postEntry(input);
    expect(await store.postEntry({ ...input, now: start + 99 })).toEqual(first);
    expect(await store.postEntry({ ...input, amount: 501n })).toEqual({ outcome: 'conflict' });
    expect(await available(store, accountId)).toBe(500n);
  });

  it('refunds in parts up to the charge and not beyond', async () => {
    const { accountId, jobId } = await charged(1_000n, 100n);
    const first = await refund(jobId, 40n);
    expect(first).toMatchObject({
      outcome: 'refunded',
      refunded: 40n,
      available: 940n,
      entry: { type: 'refund', amount: 40n, jobId, accountId },
    });
    expect(await refund(jobId, 61n)).toEqual({ outcome: 'too_much', refundable: 60n });
    expect(await refund(jobId, 60n)).toMatchObject({
      outcome: 'refunded',
      refunded: 100n,
      available: 1_000n,
    });
    expect(await refund(jobId, 1n)).toEqual({ outcome: 'too_much', refundable: 0n });
    expect(await store.getJob({ id: jobId, accountId })).toMatchObject({ charged: 100n, refunded: 100n });
  });

  it('posts a refund once that is sent twice', async () => {
    const { accountId, jobId } = await charged(1_000n, 100n);
    const entryId = randomUUID();
    const first = await refund(jobId, 70n, entryId);
    expect(await refund(jobId, 70n, entryId)).toEqual(first);
    expect(await available(store, accountId)).toBe(970n);
  });

  it('refunds all that is left after earlier refunds, and then nothing', async () => {
    const { accountId, jobId } = await charged(1_000n, 100n);
    await refund(jobId, 30n);
    const entryId = randomUUID();
    const rest = await refund(jobId, null, entryId);
    expect(rest).toMatchObject({ outcome: 'refunded', refunded: 100n, entry: { amount: 70n } });
    expect(await refund(jobId, null, entryId)).toEqual(rest);
    expect(await refund(jobId, null)).toEqual({ outcome: 'too_much', refundable: 0n });
    expect(await available(store, accountId)).toBe(1_000n);
    const free = await charged(1_000n, 0n);
    expect(await refund(free.jobId, null)).toEqual({ outcome: 'too_much', refundable: 0n });
    expect(await refund('no job', null)).toEqual({ outcome: 'no_job' });
  });

  it('refunds nothing for an uncharged job, a missing job, or amount zero', async () => {
    const owner = await addAccount(store);
    const running = await openJob(store, opening(runningJob(owner)));
    expect(await refund(running, 1n)).toEqual({ outcome: 'too_much', refundable: 0n });
    expect(await refund('no job', 1n)).toEqual({ outcome: 'no_job' });
    const { accountId, jobId } = await charged(1_000n, 100n);
    await expect(refund(jobId, 0n)).rejects.toThrow(StoreError);
    await expect(refund(jobId, -5n)).rejects.toThrow(StoreError);
    expect(await available(store, accountId)).toBe(900n);
  });

  it('never changes or removes an entry', async () => {
    const { accountId } = await addAccount(store);
    await expect(
      data.sql(`update ledger_entries set amount = 1 where account_id = '${accountId}'`),
    ).rejects.toThrow(/append-only/);
    await expect(data.sql(`delete from ledger_entries where account_id = '${accountId}'`)).rejects.toThrow(
      /append-only/,
    );
  });
});
