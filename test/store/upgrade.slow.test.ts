import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { postgresEngine, sqliteEngine } from '../../src/store/migrations/engine.ts';
import { initial } from '../../src/store/migrations/0001-initial.ts';
import { migrations } from '../../src/store/migrations/migrations.ts';
import type { Store } from '../../src/store/store.ts';
import { finishing, reservedMedia, start, worker } from './builders.ts';
import { testEngines, type TestPlace } from './open-test-store.ts';

/** The rows of Kysely, which ran the migrations of older versions, after the first one. */
const firstMigrationDone = [
  `create table kysely_migration (name varchar(255) not null primary key, timestamp varchar(255) not null)`,
  `create table kysely_migration_lock (id varchar(255) not null primary key, is_locked integer default 0 not null)`,
  `insert into kysely_migration values ('0001-initial', '2026-11-01T00:00:00.000Z')`,
  `insert into kysely_migration_lock values ('migration_lock', 0)`,
];

/** One account in the first schema: a job of each status, a charge, a refund, an image, a replay; and two payments. */
const rows = [
  `insert into accounts values ('account', 'Müller & Söhne', 'active', ${start}, 840, 200, ${start})`,
  `insert into api_keys values
    ('key', 'account', 'hash', 'sk_causeway_ab...yz', 'first', ${start}, null),
    ('old key', 'account', 'old hash', 'sk_causeway_cd...wx', '', ${start + 1}, ${start + 2})`,
  `insert into jobs values
    ('queued', 'account', 'key', 'image', 'imagemodel-1.0', 'queued', 0, 2, null, null, ${start + 60_000}, ${start},
      null, null, '{"prompt":"a cat"}', '{"order":7}', null, null, null),
    ('running', 'account', 'key', 'chat', 'textmodel-3.5-flash', 'running', 1, 1, '${worker}', ${start + 30_000},
      ${start + 60_000}, ${start + 1}, ${start + 1}, null, '{"messages":[]}', null, null, null, null),
    ('done', 'account', 'key', 'image', 'imagemodel-1.0', 'done', 1, 2, null, null, ${start + 60_000}, ${start + 2},
      ${start + 3}, ${start + 4}, '', null, '["made"]', null, '{"provider":"sandbox"}'),
    ('failed', 'account', 'key', 'chat', 'textmodel-3.5-flash', 'failed', 1, 1, null, null, ${start + 60_000},
      ${start + 3}, ${start + 3}, ${start + 5}, '', null, null,
      '{"type":"server_error","code":"server_error","message":"Try again."}', null)`,
  `insert into holds values
    ('queued', 'account', 100, 'open', 0, 0, ${start + 60_000}, null),
    ('running', 'account', 100, 'open', 0, 0, ${start + 60_000}, null),
    ('done', 'account', 300, 'captured', 200, 40, ${start + 60_000}, ${start + 4}),
    ('failed', 'account', 100, 'released', 0, 0, ${start + 60_000}, ${start + 5})`,
  `insert into ledger_entries values
    ('topup', 'account', 'topup', 1000, null, 'paid in', ${start}),
    ('debit', 'account', 'debit', -200, 'done', null, ${start + 4}),
    ('refund', 'account', 'refund', 40, 'done', null, ${start + 6})`,
  `insert into idempotency_keys values ('account', 'POST /v1/images', 'again', 'body', 'done', ${start + 86_400_000})`,
  `insert into payments values
    ('eip155:8453:0xusdc:0xpayer:0xnonce', '', 'eip155:8453', '0xusdc', '0xseller', 100000, '{}', '{}', null, null,
      'delivered', '0xpayer', null, '0xHash', null, null, null, ${start}, ${start + 1}),
    ('solana:cluster:Message', '', 'solana:cluster', 'mint', 'seller', 100000, '{}', '{}', null, null,
      'unknown', 'payer', null, null, null, null, null, ${start + 1}, ${start + 2})`,
  `insert into media values ('image', 'account', 'done', 'image/png', 5000000000, ${start + 4}, ${start + 9_000})`,
];

describe.each(testEngines())(
  'payments that share a job, of an older version, on $kind',
  ({ kind, createPlace }) => {
    it('keep it, are named, and the later of two new ones is refused', async () => {
      const place = await createPlace();
      try {
        const engine = kind === 'sqlite' ? sqliteEngine : postgresEngine;
        const older = Object.entries(migrations).filter(([name]) => name < '0016');
        const payment = (identity: string, job: string | null) =>
          `insert into payments (identity, request_hash, network, asset, pay_to, amount, payload, requirements, state,
           job_id, created_at, updated_at)
         values ('${identity}', '', 'eip155:8453', '0xusdc', '0xseller', 1, '{}', '{}', 'delivered',
           ${job === null ? 'null' : `'${job}'`}, ${start}, ${start})`;
        await place.sql(
          ...(kind === 'postgres' ? [`create schema ${place.location}`] : []),
          ...initial(engine),
          ...firstMigrationDone,
          ...rows,
          ...older
            .slice(1)
            .flatMap(([name, build]) => [
              ...build(engine),
              `insert into kysely_migration values ('${name}', '')`,
            ]),
          payment('one', 'done'),
          payment('two', 'done'),
          payment('three', 'failed'),
          payment('four', null),
          // Its process died before it noted the job, which is known by the key that was made of the payment.
          payment('five', null),
          `update payments set account_id = 'account' where identity = 'five'`,
          `insert into idempotency_keys values ('account', 'POST /v1/chat', 'x402:five', '', 'running', ${start})`,
        );
        const store = await place.openAnother();
        const jobOf = async (identity: string) => (await store.getPayment(identity))?.jobId;
        expect(await Promise.all(['one', 'two', 'three', 'four', 'five'].map(jobOf))).toEqual([
          'done',
          'done',
          'failed',
          null,
          'running',
        ]);
        expect(await store.listSharedJobs(undefined)).toEqual(['done']);
        expect((await store.checkLedger()).problems).toEqual([
          'job done: it has two payments, one and two; refund the one that did not pay for it',
        ]);
        expect(await store.findPaymentOfJob('done')).toBeNull();
        expect(await store.findPaymentOfJob('failed')).toMatchObject({ identity: 'three' });
        await expect(
          place.sql(`update payments set job_id = 'failed' where identity = 'four'`),
        ).rejects.toThrow(/unique/i);
        await place.sql(`update payments set refunded = 1 where identity = 'two'`);
        expect(await store.listSharedJobs(undefined)).toEqual([]);
        expect((await store.checkLedger()).problems).toEqual([]);
      } finally {
        await place.remove();
      }
    });
  },
);

describe.each(testEngines())('data of the first schema on $kind', ({ kind, createPlace }) => {
  let place: TestPlace;
  let store: Store;
  beforeEach(async () => {
    place = await createPlace();
    const engine = kind === 'sqlite' ? sqliteEngine : postgresEngine;
    await place.sql(
      ...(kind === 'postgres' ? [`create schema ${place.location}`] : []),
      ...initial(engine),
      ...firstMigrationDone,
      ...rows,
    );
    // Both find the old schema, and one of them brings it up to date.
    [store] = await Promise.all([place.openAnother(), place.openAnother()]);
  });
  afterEach(() => place.remove());

  it('is read completely by the newest schema', async () => {
    expect(await store.getAccount('account')).toEqual({
      id: 'account',
      name: 'Müller & Söhne',
      status: 'active',
      balance: 840n,
      held: 200n,
      terms: null,
      isSandbox: false,
      wallet: null,
      createdAt: start,
    });
    const keys = await store.listKeys({ accountId: 'account', limit: 100, before: null, now: start });
    expect(keys).toMatchObject([
      { id: 'old key', revokedAt: start + 2 },
      { id: 'key', revokedAt: null, madeBy: null, budgetDay: null, daySpent: 0n },
    ]);
    const jobs = await Promise.all(
      ['queued', 'running', 'done', 'failed'].map((id) => store.getJob({ id, accountId: 'account' })),
    );
    const added = { progress: 0, providerTask: null, parameters: null, webhookUrl: null };
    expect(jobs).toMatchObject([
      { id: 'queued', status: 'queued', request: '{"prompt":"a cat"}', customData: '{"order":7}', ...added },
      { id: 'running', status: 'running', leaseOwner: worker, hold: 100n, ...added },
      {
        id: 'done',
        result: '["made"]',
        charged: 200n,
        refunded: 40n,
        metadata: '{"provider":"sandbox"}',
        ...added,
      },
      { id: 'failed', error: { code: 'server_error' }, holdState: 'released', ...added },
    ]);
    expect(await store.listMedia('done')).toEqual([
      {
        id: 'image',
        accountId: 'account',
        jobId: 'done',
        role: 'image',
        contentType: 'image/png',
        sizeBytes: 5_000_000_000,
        createdAt: start + 4,
        expiresAt: start + 9_000,
        removedAt: null,
      },
    ]);
    const idempotency = { endpoint: 'POST /v1/images', key: 'again', bodyHash: 'body' };
    const replay = { accountId: 'account', idempotency, payment: null, now: start };
    expect(await store.findReplay(replay)).toMatchObject({ outcome: 'replayed', job: { id: 'done' } });
    expect(await store.checkLedger()).toMatchObject({ accounts: 1, entries: 3, openHolds: 2, problems: [] });
  });

  it('has payments that later look-ups and lists find', async () => {
    const evm = { identity: 'eip155:8453:0xusdc:0xpayer:0xnonce', settledAt: start + 1, checkAt: null };
    const solana = { identity: 'solana:cluster:Message', settledAt: null, checkAt: start + 2 };
    const find = (prefix: string) => store.findPaymentsByPrefix({ prefix, limit: 9 });
    expect(await find('0xnon')).toMatchObject([evm]);
    expect(await find('Mess')).toMatchObject([solana]);
    expect(await find('0xha')).toMatchObject([evm]);
    expect(await store.findPaymentsByTransaction({ transaction: '0xhash', limit: 9 })).toMatchObject([evm]);
    expect(await store.listPayments({ limit: 9 })).toMatchObject([solana, evm]);
    expect(await store.listPayments({ states: ['delivered'], limit: 9 })).toMatchObject([evm]);
    expect(await store.listPayments({ network: 'solana:cluster', limit: 9 })).toMatchObject([solana]);
  });

  it('is refused by an older version after a newer one has changed it, and stays as it is', async () => {
    // What this store reads with is open before the newer version comes.
    await store.getAccount('account');
    const newer = `insert into kysely_migration values ('9999-of-a-newer-version', '2027-11-01T00:00:00.000Z')`;
    await place.sql(newer);
    await expect(place.openAnother()).rejects.toThrow(
      /newer version of Causeway has changed this store \(migration 9999-of-a-newer-version\); start that version/,
    );
    const names = await place.sql('select name from kysely_migration order by name');
    expect(names.at(-1)).toEqual({ name: '9999-of-a-newer-version' });
    expect((await store.listMigrations(undefined)).at(-1)).toBe('9999-of-a-newer-version');
    expect(await store.getAccount('account')).toMatchObject({ balance: 840n });
  });

  it('has terms whose list of SKUs gets its newer name', async () => {
    const prices = '"prices":{"a":{"price_usd":"0.10","unit":"call"}}';
    await place.sql(
      `update accounts set terms = '{${prices},"skus":["a","skus"]}'`,
      `delete from kysely_migration where name = '0017-terms-models'`,
    );
    const upgraded = await place.openAnother();
    expect(await upgraded.getAccount('account')).toMatchObject({
      terms: `{${prices},"models":["a","skus"]}`,
    });
  });

  it('can be changed after the upgrade', async () => {
    await store.reserveMedia(reservedMedia('account', { id: 'reserved' }));
    expect(await store.getMedia('reserved')).toMatchObject({ jobId: null });
    expect(await store.finishJob(finishing('running', { charge: 60n }))).toMatchObject({
      outcome: 'finished',
    });
    expect(
      await store.claimJobs({ owner: worker, kind: 'image', limit: 9, leaseUntil: start + 9, now: start }),
    ).toMatchObject([{ id: 'queued' }]);
    const listed = await store.listJobs({ accountId: 'account', limit: 9, before: null });
    expect(listed.map(({ id }) => id)).toEqual(['failed', 'done', 'running', 'queued']);
    await expect(place.sql(`delete from ledger_entries`)).rejects.toThrow(/append-only/);
    expect((await store.checkLedger()).problems).toEqual([]);
  });
});
