import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { newId } from '../../src/kit/ids.ts';
import type { Job, JobPayment, Store } from '../../src/store/store.ts';
import {
  addAccount,
  assertSoundBooks,
  finishing,
  idempotencyKey,
  newPayment,
  openJob,
  opening,
  runningJob,
  start,
  type Owner,
} from './builders.ts';
import { onPostgres, testEngines, type TestStore } from './open-test-store.ts';
import type { PaymentState } from '../../src/rules/payments.ts';

const idempotency = idempotencyKey('owed');

describe.each(testEngines())('a job whose payment failed on $kind', ({ kind, create }) => {
  let data: TestStore;
  let store: Store;
  let other: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
    other = await data.openAnother();
  });
  afterEach(() => assertSoundBooks(store));
  afterAll(() => data.remove());

  const advance = async (
    identity: string,
    ...[from, to, { set = {}, handle = store } = {}]: [
      from: PaymentState,
      to: PaymentState,
      options?: { set?: object; handle?: Store },
    ]
  ): Promise<void> => {
    const accountId = (await store.getPayment(identity))?.accountId ?? null;
    const change = { identity, from: [from], to, set, now: start + 2_000 };
    expect(await handle.advanceCredit({ change, accountId, entryId: newId() })).not.toBeNull();
  };
  const verified = async ({ accountId }: Owner, identity = newId()): Promise<string> => {
    await store.reservePayment(newPayment({ identity, accountId, credit: 100n }));
    await advance(identity, 'reserved', 'verified');
    return identity;
  };
  /** A payment whose money is in the balance. */
  const settled = async (owner: Owner, identity?: string): Promise<JobPayment> => {
    const paid = await verified(owner, identity);
    await advance(paid, 'verified', 'settled');
    return { identity: paid, most: null };
  };
  /** An account, what its job costs being 60, and the payment that failed. */
  const owing = async (balance: bigint): Promise<{ owner: Owner; job: Job; failed: string }> => {
    const owner = await addAccount(store, { balance });
    const failed = await verified(owner);
    const payment = { identity: failed, most: 100n };
    const job = runningJob(owner);
    const id = await openJob(store, opening(job, { hold: 0n, payment, idempotency }));
    await store.finishJob(finishing(id, { charge: 60n }));
    await advance(failed, 'verified', 'produced', { set: { settledAmount: 1n, credit: 60n } });
    await advance(failed, 'produced', 'failed');
    return { owner, job: await found(owner), failed };
  };
  const find = ({ accountId }: Owner, payment: string | null = null) =>
    store.findReplay({ accountId, idempotency, payment, now: start });
  const found = async (owner: Owner): Promise<Job> => {
    const replay = await find(owner);
    if (replay?.outcome !== 'owed') throw new Error(`the job is not owed: ${replay?.outcome}`);
    return replay.job;
  };
  const pay = ({ owner: { keyId }, job }: { owner: Owner; job: Job }, payment: JobPayment | null = null) =>
    store.payOwedJob({ job, keyId, payment, now: start + 3_000 });
  const balanceOf = async ({ accountId }: Owner) => (await store.getAccount(accountId))?.balance;

  it('is paid from a balance that covers it, once', async () => {
    const owing60 = await owing(60n);
    const paid = { outcome: 'replayed', job: { id: owing60.job.id, unpaidBy: null, charged: 60n } };
    expect(await pay(owing60)).toMatchObject(paid);
    expect(await pay(owing60)).toMatchObject(paid);
    expect(await balanceOf(owing60.owner)).toBe(0n);
    expect(await find(owing60.owner)).toMatchObject(paid);
  });

  it('is not paid from a smaller balance, also when it would cover another call', async () => {
    const owing59 = await owing(59n);
    expect(await pay(owing59)).toEqual({ outcome: 'insufficient', available: 59n });
    expect(await balanceOf(owing59.owner)).toBe(59n);
  });

  it('is not opened again, nor paid by the way', async () => {
    const { owner } = await owing(1_000n);
    expect(await store.openJob(opening(runningJob(owner), { idempotency }))).toEqual({
      outcome: 'unsettled',
    });
    expect(await balanceOf(owner)).toBe(1_000n);
  });

  it('is not debited from an account that is suspended', async () => {
    const debt = await owing(1_000n);
    const { accountId } = debt.owner;
    await store.setAccountStatus({ id: accountId, status: 'suspended', now: start });
    expect(await pay(debt)).toEqual({ outcome: 'forbidden' });
    expect(await balanceOf(debt.owner)).toBe(1_000n);
    expect(await store.owesForJobs(accountId)).toBe(true);
  });

  it('becomes the job of the payment that pays for it, unless that was given back', async () => {
    const debt = await owing(0n);
    const freed = { identity: await verified(debt.owner), most: null };
    await advance(freed.identity, 'verified', 'rejected');
    expect(await pay(debt, freed)).toEqual({ outcome: 'unsettled' });
    const payment = await settled(debt.owner);
    expect(await pay(debt, payment)).toMatchObject({ outcome: 'replayed' });
    expect(await store.getPayment(payment.identity)).toMatchObject({ jobId: debt.job.id });
    expect(await store.getPayment(debt.failed)).toMatchObject({ jobId: null });
    expect(await balanceOf(debt.owner)).toBe(40n);
  });

  it('is found by its payment in its own account alone', async () => {
    const { owner, job, failed } = await owing(0n);
    expect(await find(owner, failed)).toMatchObject({ outcome: 'replayed', job: { id: job.id } });
    expect(await find(await addAccount(store), failed)).toBeNull();
  });

  describe.runIf(kind === 'postgres')('where another process works on the same', () => {
    /**
     * Runs `work` while another connection has run `sql` and not committed it. `whenWaiting` resolves when so many others
     * wait for it, or for each other.
     */
    const beside = (
      sql: string,
      work: (connection: {
        run: (text: string) => Promise<unknown>;
        whenWaiting: (count: number) => Promise<unknown>;
      }) => Promise<void>,
    ): Promise<void> =>
      onPostgres(async (client) => {
        const run = (text: string) => client.query<{ pid: number }>(text);
        const { rows } = await run('select pg_backend_pid() as pid');
        await run(`set search_path = ${data.location}; begin; ${sql}`);
        const waiting = `with recursive waiting as (
            select ${rows[0]?.pid} as pid
            union select a.pid from pg_stat_activity a join waiting w on w.pid = any (pg_blocking_pids(a.pid))
          ) select pid from waiting`;
        const isWaiting = async (count: number) => (await data.sql(waiting)).length > count;
        await work({
          run,
          whenWaiting: (count) => vi.waitUntil(() => isWaiting(count), { timeout: 60_000 }),
        });
      });

    // The two payments come in either order of their names.
    it.each(['0', 'z'])(
      'is paid, and its own payment is settled late, without a deadlock (%s)',
      async (first) => {
        const debt = await owing(0n);
        const payment = await settled(debt.owner, first + newId());
        const { accountId } = debt.owner;
        await beside(
          `select 1 from accounts where id = '${accountId}' for update`,
          async ({ run, whenWaiting }) => {
            const paying = pay(debt, payment);
            await whenWaiting(1);
            const settling = advance(debt.failed, 'failed', 'settled', { handle: other });
            await whenWaiting(2);
            await run('commit');
            expect(await paying).toMatchObject({ outcome: 'replayed' });
            await settling;
          },
        );
        expect(await balanceOf(debt.owner)).toBe(100n);
        expect(await store.getPayment(debt.failed)).toMatchObject({ state: 'settled', jobId: null });
      },
    );

    it('is not called owed if it was paid after it was read', async () => {
      const { owner, job, failed } = await owing(60n);
      const { accountId } = owner;
      await beside('lock table payments in access exclusive mode', async ({ run, whenWaiting }) => {
        const finding = find(owner);
        await whenWaiting(1);
        await run(
          `update payments set state = 'settled' where identity = '${failed}';
           update accounts set balance = 0 where id = '${accountId}';
           insert into ledger_entries (id, account_id, type, amount, job_id, created_at)
             values ('${newId()}', '${accountId}', 'debit', -60, '${job.id}', ${start});
           update holds set debited = 1 where job_id = '${job.id}';
           commit`,
        );
        expect(await finding).toMatchObject({ outcome: 'replayed', job: { id: job.id, unpaidBy: null } });
      });
      await data.sql(`update payments set state = 'failed' where identity = '${failed}'`);
    });
  });
});
