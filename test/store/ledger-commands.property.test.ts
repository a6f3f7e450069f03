import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Job, JobKind, Store } from '../../src/store/store.ts';
import {
  addAccount,
  assertSoundBooks,
  deadJobError,
  finishing,
  opening,
  queuedJob,
  reapAndFail,
  reaping,
  runningJob,
  start,
  type Owner,
  openWithJob,
} from './builders.ts';
import { createLedgerModel, type LedgerModel } from './ledger-model.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

const minute = 60_000;
const index = (below: number) => fc.nat(below - 1);
const amount = fc.bigInt(1n, 400n);

/** Codes of failures that free the idempotency key of a chat. */
const faults = ['upstream_error', 'upstream_unavailable', 'server_error'];
/** A chat may free its key, an image keeps it. */
const kindArbitrary = fc.constantFrom<JobKind>('image', 'chat');

/** A command, with small numbers for who and what, so that commands meet on the same rows. */
const commandArbitrary = fc.oneof(
  fc.record({
    type: fc.constant('open' as const),
    account: index(2),
    hold: fc.bigInt(0n, 400n),
    isQueued: fc.boolean(),
    maxAttempts: fc.integer({ min: 1, max: 3 }),
    key: fc.option(index(3)),
    body: index(2),
    activeLimit: fc.option(fc.integer({ min: 1, max: 3 })),
  }),
  fc.record({ type: fc.constant('claim' as const), worker: index(2), limit: fc.integer({ min: 0, max: 3 }) }),
  fc.record({
    type: fc.constant('finish' as const),
    job: index(12),
    worker: index(2),
    isDone: fc.boolean(),
    charge: fc.oneof(fc.constant(0n), fc.bigInt(0n, 500n)),
    code: fc.constantFrom(...faults, 'content_policy_violation', 'rate_limit_exceeded'),
  }),
  fc.record({ type: fc.constant('reap' as const), worker: index(2) }),
  fc.record({ type: fc.constant('wait' as const), minutes: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ type: fc.constant('topup' as const), account: index(2), amount, entry: index(6) }),
  fc.record({ type: fc.constant('adjust' as const), account: index(2), amount, entry: index(6) }),
  fc.record({ type: fc.constant('refund' as const), job: index(12), amount, entry: index(6) }),
);
type Command = typeof commandArbitrary extends fc.Arbitrary<infer T> ? T : never;

/** One run: two accounts of its own in the shared store, and the time. */
interface Run {
  store: Store;
  /** Of all its jobs. */
  kind: JobKind;
  owners: Owner[];
  prefix: string;
  now: number;
  opened: number;
}

const beginRun = async (store: Store, kind: JobKind): Promise<Run> => ({
  store,
  kind,
  owners: [await addAccount(store, { balance: 0n }), await addAccount(store, { balance: 0n })],
  prefix: randomUUID(),
  now: start,
  opened: 0,
});

const jobId = (run: Run, number: number): string => `${run.prefix} job ${String(number).padStart(3, '0')}`;
const entryId = (run: Run, number: number): string => `${run.prefix} entry ${number}`;
const workerName = (number: number): string => `worker-${number}`;

const openInput = (run: Run, command: Extract<Command, { type: 'open' }>, number: number) => {
  const build = command.isQueued ? queuedJob : runningJob;
  const job = build(run.owners[command.account]!, {
    id: jobId(run, number),
    kind: run.kind,
    maxAttempts: command.maxAttempts,
    deadlineAt: run.now + 5 * minute,
    ...(command.isQueued ? {} : { leaseOwner: workerName(0), leaseUntil: run.now + 2 * minute }),
  });
  const idempotency =
    command.key === null
      ? null
      : {
          endpoint: 'POST /v1/images/generations',
          key: `key ${command.key}`,
          bodyHash: `body ${command.body}`,
          expiresAt: run.now + 3 * minute,
        };
  return opening(job, {
    hold: command.hold,
    idempotency,
    activeLimit: command.activeLimit,
    now: run.now,
  });
};

const finishInput = (run: Run, command: Extract<Command, { type: 'finish' }>) =>
  finishing(jobId(run, command.job), {
    owner: workerName(command.worker),
    status: command.isDone ? 'done' : 'failed',
    error: command.isDone ? null : { ...deadJobError, code: command.code },
    charge: command.charge,
    now: run.now,
  });

const entryInput = (run: Run, command: Extract<Command, { type: 'topup' | 'adjust' }>) => ({
  id: entryId(run, command.entry),
  accountId: run.owners[command.account]!.accountId,
  // Of one type, so that equal numbers are equal entries; the amount tells a debit from a credit.
  type: 'adjustment' as const,
  amount: command.type === 'topup' ? command.amount : -command.amount,
  note: null,
  now: run.now,
});

const refundInput = (run: Run, command: Extract<Command, { type: 'refund' }>) => ({
  entryId: entryId(run, command.entry),
  jobId: jobId(run, command.job),
  amount: command.amount,
  note: null,
  now: run.now,
});

const idsOf = (jobs: Job[]): string[] => jobs.map(({ id }) => id);

/** Runs one command on both and compares what they say. */
const compare = async (run: Run, model: LedgerModel, command: Command): Promise<void> => {
  const { store, now } = run;
  switch (command.type) {
    case 'open': {
      const input = openInput(run, command, run.opened);
      const { job } = input;
      const expected = model.open({
        job: { ...job, leaseUntil: job.leaseUntil ?? 0, createdAt: now, hold: input.hold },
        idempotency: input.idempotency,
        activeLimit: input.activeLimit,
        now,
      });
      const seen = await openWithJob(store, input);
      expect(
        'job' in seen ? { outcome: seen.outcome, jobId: seen.job.id } : { outcome: seen.outcome },
      ).toEqual(expected);
      if ('available' in seen) expect(seen.available).toBe(model.available(job.accountId));
      if (expected.outcome === 'opened') run.opened += 1;
      return;
    }
    case 'claim': {
      const input = {
        owner: workerName(command.worker),
        limit: command.limit,
        leaseUntil: now + 2 * minute,
        now,
      };
      expect(idsOf(await store.claimJobs({ ...input, kind: run.kind }))).toEqual(model.claim(input));
      return;
    }
    case 'finish': {
      const input = finishInput(run, command);
      const { id, owner, status, charge } = input;
      const isFault = faults.includes(command.code);
      expect((await store.finishJob(input)).outcome).toBe(
        model.finish({ id, owner, status, charge, isFault }),
      );
      return;
    }
    case 'reap': {
      const input = { owner: workerName(command.worker), leaseUntil: now + 2 * minute, now };
      const expected = model.reap(input);
      const seen = await store.reapJobs({ ...input, limit: 100 });
      expect(idsOf(seen.requeued).sort()).toEqual(expected.requeued.sort());
      expect(idsOf(seen.doomed).sort()).toEqual(expected.doomed.sort());
      return;
    }
    case 'wait':
      run.now += command.minutes * minute;
      return;
    case 'topup':
    case 'adjust': {
      const input = entryInput(run, command);
      expect((await store.postEntry(input)).outcome).toBe(model.post(input));
      return;
    }
    case 'refund': {
      const input = refundInput(run, command);
      const { entryId: id, jobId: job } = input;
      expect((await store.refundJob(input)).outcome).toBe(
        model.refund({ id, jobId: job, amount: input.amount }),
      );
    }
  }
};

/** Compares every account and job of the run with the model. */
const compareState = async (run: Run, model: LedgerModel): Promise<void> => {
  for (const { accountId } of run.owners)
    expect(await run.store.getAccount(accountId)).toMatchObject(model.account(accountId));
  for (const { id, accountId, status, attempts, leaseOwner, holdState, charged, refunded } of model.jobs())
    expect(await run.store.getJob({ id, accountId })).toMatchObject({
      status,
      attempts,
      leaseOwner,
      holdState,
      charged,
      refunded,
    });
};

/** Ends all jobs of the run, so that the next run claims only its own. */
const endRun = async (run: Run): Promise<void> => {
  await reapAndFail(run.store, run.now + 60 * minute);
  for (const { accountId } of run.owners)
    expect(await run.store.getAccount(accountId)).toMatchObject({ held: 0n });
  await assertSoundBooks(run.store);
};

/** What a batch of commands at once reported, to be summed whatever their order was. */
interface Tally {
  credited: bigint[];
  captured: Map<string, bigint>;
  finishes: Map<string, number>;
}

/** Runs one command and notes what it says was done. */
const tallied = async (run: Run, tally: Tally, command: Command, number: number): Promise<void> => {
  const { store, now } = run;
  switch (command.type) {
    case 'open': {
      const seen = await store.openJob(openInput(run, command, number));
      if ('available' in seen) expect(seen.available).toBeGreaterThanOrEqual(0n);
      return;
    }
    case 'claim':
      await store.claimJobs({
        owner: workerName(command.worker),
        kind: run.kind,
        limit: command.limit,
        leaseUntil: now + 2 * minute,
        now,
      });
      return;
    case 'finish': {
      const input = finishInput(run, command);
      const seen = await store.finishJob(input);
      if (seen.outcome === 'lost') return;
      const { id } = input;
      tally.finishes.set(id, (tally.finishes.get(id) ?? 0) + 1);
      tally.captured.set(id, seen.charged);
      expect(seen.available).toBeGreaterThanOrEqual(0n);
      return;
    }
    case 'reap':
    case 'wait':
      await store.reapJobs(reaping(now + minute));
      return;
    case 'topup':
    case 'adjust': {
      const seen = await store.postEntry({ ...entryInput(run, command), id: randomUUID() });
      if (seen.outcome === 'posted') tally.credited.push(seen.entry.amount);
      return;
    }
    case 'refund': {
      const seen = await store.refundJob({ ...refundInput(run, command), entryId: randomUUID() });
      if (seen.outcome === 'refunded') tally.credited.push(seen.entry.amount);
    }
  }
};

const total = (amounts: Iterable<bigint>): bigint => [...amounts].reduce((sum, each) => sum + each, 0n);

describe.each(testEngines())('the ledger commands on $kind', ({ create }) => {
  let data: TestStore;
  beforeAll(async () => {
    data = await create();
  });
  afterAll(() => data.remove());

  it('do what the model does, in any order', async () => {
    await fc.assert(
      fc.asyncProperty(
        kindArbitrary,
        fc.array(commandArbitrary, { minLength: 5, maxLength: 60 }),
        async (kind, commands) => {
          const run = await beginRun(data.store, kind);
          const model = createLedgerModel();
          try {
            for (const command of commands) await compare(run, model, command);
            await compareState(run, model);
          } finally {
            await endRun(run);
          }
        },
      ),
      { numRuns: 20 },
    );
  });

  it('keep the sums right when batches of them run at once on two handles', async () => {
    const other = await data.openAnother();
    await fc.assert(
      fc.asyncProperty(
        kindArbitrary,
        fc.array(fc.array(commandArbitrary, { minLength: 2, maxLength: 20 }), { minLength: 1, maxLength: 5 }),
        async (kind, batches) => {
          const run = await beginRun(data.store, kind);
          const elsewhere = { ...run, store: other };
          const tally: Tally = { credited: [], captured: new Map(), finishes: new Map() };
          let number = 0;
          for (const batch of batches) {
            await Promise.all(
              batch.map((command, position) => {
                const where = position % 2 === 0 ? run : elsewhere;
                if (command.type === 'open') number += 1;
                return tallied(where, tally, command, number - 1);
              }),
            );
            run.now += minute;
            elsewhere.now = run.now;
          }
          const accounts = await Promise.all(
            run.owners.map(({ accountId }) => run.store.getAccount(accountId)),
          );
          const balances = accounts.map((account) => account?.balance ?? -1n);
          expect(total(balances)).toBe(total(tally.credited) - total(tally.captured.values()));
          for (const account of accounts) expect(account!.balance - account!.held).toBeGreaterThanOrEqual(0n);
          expect([...tally.finishes.values()].every((times) => times === 1)).toBe(true);
          await endRun(run);
        },
      ),
      { numRuns: 15 },
    );
  });
});
