import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addAccount, finishing, opening, openJob, runningJob, start, type Owner } from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

const nano = (usd: bigint): bigint => usd * 1_000_000_000n;

describe.each(testEngines())('the check of the ledger on $kind', ({ kind, create }) => {
  let data: TestStore;
  let owner: Owner;
  /** Charged 2 USD of a hold of 5. */
  let done: string;
  /** With an open hold of 3 USD. */
  let running: string;

  beforeEach(async () => {
    data = await create();
    owner = await addAccount(data.store, { balance: nano(100n) });
    done = await openJob(data.store, opening(runningJob(owner), { hold: nano(5n) }));
    await data.store.finishJob(finishing(done, { charge: nano(2n), entryId: 'debit-1' }));
    running = await openJob(data.store, opening(runningJob(owner), { hold: nano(3n) }));
  });
  afterEach(() => data.remove());

  /** Changes rows past all guards, as a fault in the database or a careless hand would. */
  const damage = (...statements: string[]) =>
    kind === 'sqlite'
      ? data.sql(
          'pragma ignore_check_constraints = on',
          'pragma foreign_keys = off',
          'drop trigger ledger_entries_refuse_update',
          'drop trigger ledger_entries_refuse_delete',
          'drop index ledger_entries_one_debit_per_job',
          ...statements,
        )
      : data.sql(
          'set session_replication_role = replica',
          'drop index ledger_entries_one_debit_per_job',
          `do $$ declare c record; begin
            for c in select conrelid::regclass as tab, conname from pg_constraint
              where contype = 'c' and connamespace = current_schema()::regnamespace
            loop execute format('alter table %s drop constraint %I', c.tab, c.conname); end loop;
          end $$`,
          ...statements,
        );
  const sumsDifferBy = (difference: string): unknown =>
    expect.stringMatching(
      new RegExp(
        `^account ${owner.accountId}: of key ${owner.keyId}, .* the sums of use differ from the jobs by ${difference}$`,
      ),
    );
  const problems = async (): Promise<string[]> => (await data.store.checkLedger()).problems;

  it('counts what it checked and finds no fault in a correct ledger', async () => {
    await data.store.refundJob({ entryId: 'r', jobId: done, amount: nano(1n), note: null, now: start });
    expect(await data.store.checkLedger()).toEqual({
      accounts: 1,
      entries: 3,
      openHolds: 1,
      owedJobs: 0,
      owed: 0n,
      debts: [],
      problems: [],
    });
  });

  it('runs once for all who ask while it runs', async () => {
    const [one, other] = await Promise.all([data.store.checkLedger(), data.store.checkLedger()]);
    expect(other).toBe(one);
    expect(await data.store.checkLedger()).not.toBe(one);
  });

  it('names an account whose balance is not the sum of its entries', async () => {
    await damage(`update accounts set balance = balance + 1000000000`);
    expect(await problems()).toEqual([
      `account ${owner.accountId}: its balance is 99.00 USD, but its entries sum to 98.00 USD`,
    ]);
  });

  it('names an account whose held amount is not the sum of its open holds', async () => {
    await damage(`update accounts set held = 0`);
    expect(await problems()).toEqual([
      `account ${owner.accountId}: 0.00 USD are marked as held, but its open holds sum to 3.00 USD`,
    ]);
  });

  it('names a charge whose debit was altered', async () => {
    await damage(`update ledger_entries set amount = -1000000000 where id = 'debit-1'`);
    expect(await problems()).toContain(`job ${done}: 2.00 USD were captured, but its debits sum to 1.00 USD`);
  });

  it('names a charge whose debit is missing', async () => {
    await damage(`delete from ledger_entries where id = 'debit-1'`);
    expect(await problems()).toEqual([
      `account ${owner.accountId}: its balance is 98.00 USD, but its entries sum to 100.00 USD`,
      `job ${done}: 2.00 USD were captured, but its debits sum to 0.00 USD`,
    ]);
  });

  it('names a job that was debited twice', async () => {
    await damage(
      `insert into ledger_entries (id, account_id, type, amount, job_id, created_at)
        values ('debit-2', '${owner.accountId}', 'debit', -2000000000, '${done}', 0)`,
    );
    expect(await problems()).toEqual([
      `account ${owner.accountId}: its balance is 98.00 USD, but its entries sum to 96.00 USD`,
      `job ${done}: 2.00 USD were captured, but its debits sum to 4.00 USD`,
      `job ${done}: it was debited 2 times`,
    ]);
  });

  it('names a charge above its hold', async () => {
    await damage(`update holds set amount = 1000000000 where job_id = '${done}'`);
    expect(await problems()).toEqual([`job ${done}: it was charged 2.00 USD on a hold of 1.00 USD`]);
  });

  it('names a refund without an entry, and one above the charge', async () => {
    await damage(`update holds set refunded = 3000000000 where job_id = '${done}'`);
    expect(await problems()).toEqual([
      `job ${done}: 3.00 USD were refunded of a charge of 2.00 USD`,
      `job ${done}: 3.00 USD are marked as refunded, but its refunds sum to 0.00 USD`,
      sumsDifferBy('0 jobs, 0.00 USD charged, -3.00 USD refunded and 0.00 USD of cost'),
    ]);
  });

  it('names a cost that the sums of use do not have', async () => {
    await damage(`update holds set cost = 1000000000 where job_id = '${done}'`);
    expect(await problems()).toEqual([
      sumsDifferBy('0 jobs, 0.00 USD charged, 0.00 USD refunded and -1.00 USD of cost'),
    ]);
  });

  it('names an ended job with an open hold and a running job without one', async () => {
    await damage(
      `update jobs set status = 'failed' where id = '${running}'`,
      `update jobs set status = 'queued' where id = '${done}'`,
    );
    expect(await problems()).toEqual([
      `job ${running}: it is failed, but its hold is still open`,
      `job ${done}: it is queued, but its hold is already captured`,
      ...[
        '1 jobs, 2.00 USD charged, 0.00 USD refunded and 0.00 USD of cost',
        '-1 jobs, 0.00 USD charged, 0.00 USD refunded and 0.00 USD of cost',
      ].map(sumsDifferBy),
    ]);
  });

  it('names a job that has no hold at all', async () => {
    await damage(`delete from holds where job_id = '${running}'`, `update accounts set held = 0`);
    expect(await problems()).toEqual([`job ${running}: it has no hold`]);
  });

  it('names entries and holds that are on another account than their job', async () => {
    const other = await addAccount(data.store, { balance: nano(1n) });
    await damage(
      `update ledger_entries set account_id = '${other.accountId}' where id = 'debit-1'`,
      `update holds set account_id = '${other.accountId}' where job_id = '${running}'`,
    );
    expect(await problems()).toEqual(
      expect.arrayContaining([
        `entry debit-1: it is on account ${other.accountId}, but its job ${done} is of account ${owner.accountId}`,
        `job ${running}: its hold is on account ${other.accountId}, but the job is of account ${owner.accountId}`,
      ]),
    );
  });

  it('names a payment by card whose entries, or whose parts, do not fit', async () => {
    const { accountId } = owner;
    const [id, amount] = ['card-1', nano(20n)];
    const added = { id, accountId, kind: 'checkout', amount, isLive: false, customer: null } as const;
    await data.store.addCardPayment({ ...added, askAt: start, now: start });
    const told = { state: 'paid', session: 'cs_1', paymentIntent: 'pi_1', savedCard: null } as const;
    const change = { id, accountId, version: 0, kept: amount, failedFor: null };
    await data.store.changeCardPayment({ ...change, ...told, now: start });
    expect(await problems()).toEqual([]);
    await damage(`update card_payments set credited = ${nano(19n)}`);
    expect(await problems()).toEqual([
      'card payment card-1: 19.00 USD are marked as credited, but its entries sum to 20.00 USD',
      'card payment card-1: it is paid, 20.00 USD are kept of 20.00 USD, and 19.00 USD are credited',
    ]);
  });

  it('lists a bounded number of faults of one kind', async () => {
    await damage(`delete from holds`, `update accounts set held = 0`);
    const copies = Array.from({ length: 120 }, (_, index) => index);
    await data.sql(
      ...copies.map(
        (index) => `insert into jobs (id, account_id, key_id, kind, model, status, attempts, max_attempts,
            deadline_at, created_at, request)
          values ('job-${index}', '${owner.accountId}', '${owner.keyId}', 'chat', 'm', 'queued', 0, 1, 0, 0, '{}')`,
      ),
    );
    const lines = (await problems()).filter(
      (line) => line.includes('has no hold') || line.includes('and more'),
    );
    expect(lines).toHaveLength(101);
    expect(lines.at(-1)).toBe('and more of the kind above');
  });
});
