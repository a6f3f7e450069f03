import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  openPostgresStore,
  type PostgresStoreOptions,
} from '../../../src/store/postgres/open-postgres-store.ts';
import { silentLog, type Log } from '../../../src/kit/log.ts';
import type { StoreError } from '../../../src/store/store-error.ts';
import type { Store } from '../../../src/store/store.ts';
import { poolerUrl, postgresUrl, schemaAddress } from '../open-store-at.ts';
import {
  addAccount,
  assertSoundBooks,
  available,
  finishing,
  opening,
  openJob,
  queuedJob,
  runningJob,
  start,
  type Owner,
} from '../builders.ts';
import { dropSchema, nameSchema, onPostgres } from '../open-test-store.ts';
import { hasService } from '../../outside-services.ts';

describe.runIf(hasService('PostgreSQL'))('the PostgreSQL store', () => {
  let schema: string;
  let opened: Store[];
  beforeEach(async () => {
    schema = await nameSchema();
    opened = [];
  });
  afterEach(async () => {
    for (const store of opened) await store.close();
    await dropSchema(schema);
  });

  const open = async (options: Partial<PostgresStoreOptions> = {}): Promise<Store> => {
    const store = await openPostgresStore({
      ...schemaAddress(options.schema ?? schema),
      schema,
      poolSize: 3,
      ...options,
    });
    opened.push(store);
    return store;
  };
  /** Does `work` while another transaction has the row of an account. */
  const whileLocked = (accountId: string, work: () => Promise<unknown>): Promise<void> =>
    onPostgres(async (client) => {
      await client.query('begin');
      await client.query(`select 1 from ${schema}.accounts where id = '${accountId}' for update`);
      await work();
    });
  const topUp = (store: Store, accountId: string, id: string) =>
    store.postEntry({ id, accountId, type: 'topup', amount: 10n, note: null, now: start });

  /** The server ends the connections that were opened with `marked`; answers their number. */
  const terminate = async (): Promise<number> => {
    const { rows } = await onPostgres((client) =>
      client.query('select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1', [
        schema,
      ]),
    );
    return rows.length;
  };
  const marked = () => schemaAddress(schema, `?application_name=${schema}`);

  it('opens in every process when many start at once on a new database', async () => {
    const stores = await Promise.all(Array.from({ length: 5 }, () => open()));
    const { accountId } = await addAccount(stores[0]!, { balance: 70n });
    for (const store of stores) expect(await available(store, accountId)).toBe(70n);
  });

  it('uses only its schema', async () => {
    const elsewhere = await nameSchema();
    try {
      const [here, there] = [await open(), await open({ schema: elsewhere })];
      const { accountId } = await addAccount(here);
      expect(await there.getAccount(accountId)).toBeNull();
      await there.close();
    } finally {
      await dropSchema(elsewhere);
    }
  });

  it('refuses an invalid schema name', async () => {
    await expect(open({ schema: 'public; drop table accounts' })).rejects.toThrow(/not a valid schema name/);
  });

  it('keeps the options of the URL, and warns when the server may lose what it acknowledged', async () => {
    const warnings: unknown[] = [];
    const log: Log = { ...silentLog, warn: (...parts: unknown[]) => warnings.push(parts[0]) };
    const store = await open({
      ...schemaAddress(schema),
      log,
      [poolerUrl === undefined ? 'url' : 'directUrl']: `${postgresUrl}?options=-c%20synchronous_commit%3Doff`,
    });
    const { accountId } = await addAccount(store, { balance: 70n });
    expect(await available(await open(), accountId)).toBe(70n);
    expect(warnings).toEqual([expect.stringContaining('synchronous_commit = off')]);
  });

  describe('with a direct address beside its own', () => {
    const names = ['idle_in_transaction_session_timeout', 'statement_timeout', 'search_path'];
    const role = `causeway_pooled_${process.pid}`;
    const set = (name: string, value: string) =>
      onPostgres((client) =>
        client.query(`alter role ${role} in database ${database} set ${name} = ${value}`),
      );
    const { pathname } = new URL(postgresUrl);
    const database = pathname.slice(1);
    const ofRole = (): Partial<PostgresStoreOptions> => {
      const url = new URL(postgresUrl);
      url.username = role;
      return { url: url.href, directUrl: postgresUrl };
    };
    beforeEach(() => onPostgres((client) => client.query(`create role ${role} superuser login`)));
    afterEach(() => onPostgres((client) => client.query(`drop role ${role}`)));

    it('sets nothing on connections of its own address, and says what the role must set', async () => {
      await expect(open(ofRole())).rejects.toThrow(
        `run: alter role "${role}" in database "${database}" set search_path = ${schema}`,
      );
      await set('search_path', schema);
      const warnings: unknown[] = [];
      const log: Log = { ...silentLog, warn: (...parts: unknown[]) => warnings.push(parts[0]) };
      await open({ ...ofRole(), log });
      expect(warnings).toEqual([
        expect.stringMatching(
          /set idle_in_transaction_session_timeout = '10s'; .* set statement_timeout = '10s';/,
        ),
      ]);
      for (const name of names.slice(0, 2)) await set(name, `'10s'`);
      const store = await open({ ...ofRole(), log });
      const { accountId } = await addAccount(store, { balance: 70n });
      expect(await available(store, accountId)).toBe(70n);
      expect(warnings).toHaveLength(1);
    });

    it('rejects if the server refuses its second connection', async () => {
      await onPostgres((client) => client.query(`alter role ${role} nosuperuser connection limit 1`));
      await expect(open({ ...ofRole(), directUrl: undefined })).rejects.toMatchObject({
        reason: 'unavailable',
        message: expect.stringContaining('too many connections for role'),
      });
    });

    it('refuses addresses of two databases', async () => {
      const other = new URL(postgresUrl);
      other.pathname = '/template1';
      await expect(open({ ...ofRole(), url: other.href })).rejects.toMatchObject({
        reason: 'failed',
        message: expect.stringContaining('lead to different databases'),
      });
    });
  });

  it.runIf(poolerUrl)('refuses a pooler where it needs sessions', async () => {
    await expect(open({ url: poolerUrl, directUrl: undefined })).rejects.toThrow(/set DATABASE_DIRECT_URL/);
    await expect(open({ directUrl: poolerUrl })).rejects.toThrow(/set DATABASE_DIRECT_URL/);
  });

  it('rejects clearly if no server answers', async () => {
    await expect(open({ url: 'postgres://postgres@127.0.0.1:1/test' })).rejects.toMatchObject({
      reason: 'unavailable',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it.each([
    ['/no_such_database', '', 'does not exist'],
    ['/test', '?options=-c%20statement_timeout%3Dlong', 'statement_timeout'],
  ])('says that a setting is wrong if the server refuses %s%s', async (pathname, search, message) => {
    const { href: url } = Object.assign(new URL(postgresUrl), { pathname, search });
    await expect(open({ url, directUrl: undefined })).rejects.toMatchObject({
      reason: 'failed',
      message: expect.stringContaining(message),
    });
  });

  it('can be read, but takes no new job, while PostgreSQL takes no writes', async () => {
    const writable = await open();
    await writable.probe();
    const options = '?options=-c%20default_transaction_read_only%3Don';
    const store = await open({ url: postgresUrl + options, directUrl: undefined });
    // In milliseconds, the clocks of two machines agree to the hour.
    expect(Math.abs(await store.ping())).toBeLessThan(3_600_000);
    await expect(store.probe()).rejects.toMatchObject({ reason: 'unavailable' });
  });

  it.skipIf(poolerUrl)(
    'leaves a connection on which nothing can be written, as to a former primary',
    async () => {
      const owner = await addAccount(await open());
      const readOnly = `${schema} set default_transaction_read_only`;
      await onPostgres((client) =>
        client.query(`create role ${schema} superuser login; alter role ${readOnly} = on`),
      );
      const url = new URL(postgresUrl);
      url.username = schema;
      const store = await open({ url: url.href, poolSize: 1 });
      const send = () => store.openJob(opening(runningJob(owner, { isBudgeted: true })));
      await expect(send()).rejects.toMatchObject({ reason: 'unavailable' });
      await onPostgres((client) => client.query(`alter role ${readOnly} = off`));
      expect(await send()).toMatchObject({ outcome: 'opened' });
    },
  );

  it('asks once whether it can be written, however many want to know', async () => {
    const store = await open();
    expect(store.probe()).toBe(store.probe());
    await store.probe();
  });

  it('does not wait forever for a server that accepts the connection and does not answer', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const address = silent.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    await expect(
      open({ url: `postgres://postgres@127.0.0.1:${port}/test`, connectTimeoutMs: 100 }),
    ).rejects.toMatchObject({ reason: 'unavailable' });
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  it('tells listeners in other processes of queued jobs', async () => {
    const [here, there] = [await open(), await open()];
    const owner = await addAccount(here);
    const words = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let count = 0;
    there.onJobQueued(() => {
      words[count]?.resolve();
      count += 1;
    });
    // The first word comes when the connection listens, as something may have been missed before.
    await words[0]!.promise;
    await openJob(here, opening(queuedJob(owner)));
    await words[1]!.promise;
    expect(count).toBe(2);
  });

  it('reconnects its listener, and signals that an announcement may have been missed', async () => {
    const store = await open(marked());
    const words = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let count = 0;
    store.onJobQueued(() => {
      words[count]?.resolve();
      count += 1;
    });
    await words[0]!.promise;
    expect(await terminate()).toBeGreaterThanOrEqual(1);
    await words[1]!.promise;
    expect(count).toBe(2);
  });

  it('survives if the server ends a connection within a transaction', async () => {
    const store = await open(marked());
    const owner = await addAccount(store);
    await whileLocked(owner.accountId, async () => {
      const opened = store.openJob(opening(queuedJob(owner), { activeLimit: 5 })).then(
        ({ outcome }) => outcome,
        ({ reason, message }: StoreError) => `${reason}: ${message}`,
      );
      const isWaiting = async (): Promise<boolean> => {
        const { rows } = await onPostgres((other) =>
          other.query(
            `select 1 from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'`,
            [schema],
          ),
        );
        return rows.length > 0;
      };
      await expect.poll(isWaiting).toBe(true);
      await terminate();
      expect(await opened).toMatch(/^unavailable: .*terminat/);
    });
    expect(await openJob(store, opening(queuedJob(owner), { activeLimit: 5 }))).toBeDefined();
    await assertSoundBooks(store);
  });

  it('continues with new connections if the server ended the old ones', async () => {
    const store = await open(marked());
    const { accountId } = await addAccount(store, { balance: 0n });
    await topUp(store, accountId, 'entry 1');
    expect(await terminate()).toBeGreaterThanOrEqual(1);
    // A command may still meet a connection whose end was not heard of; sent again, it is posted once.
    await topUp(store, accountId, 'entry 2').catch(() => topUp(store, accountId, 'entry 2'));
    expect(await available(store, accountId)).toBe(20n);
  });

  it('rejects a command that waits too long for a lock, changes nothing and works later', async () => {
    if (poolerUrl !== undefined)
      await onPostgres((client) => client.query(`alter role ${schema} set statement_timeout = '2s'`));
    const store = await open({ statementTimeoutMs: 2_000 });
    const { accountId } = await addAccount(store, { balance: 0n });
    await whileLocked(accountId, () =>
      expect(topUp(store, accountId, 'entry 1')).rejects.toMatchObject({
        reason: 'unavailable',
        message: expect.stringContaining('statement timeout'),
      }),
    );
    expect(await topUp(store, accountId, 'entry 2')).toMatchObject({ available: 10n });
    await assertSoundBooks(store);
  });

  it('opens and ends the jobs of others while the row of one account is locked', async () => {
    const store = await open();
    const [locked, other] = [
      await addAccount(store, { balance: 9n }),
      await addAccount(store, { balance: 9n }),
    ];
    let isWaiting = true;
    let waiting: Promise<unknown> = Promise.resolve();
    await whileLocked(locked.accountId, async () => {
      waiting = store.openJob(opening(runningJob(locked), { hold: 1n })).finally(() => (isWaiting = false));
      await store.openJob(opening(runningJob(other), { hold: 1n }));
      await store.openJob(opening(runningJob(other, { id: 'later' }), { hold: 1n }));
      await store.finishJob(finishing('later', { charge: 1n }));
      expect(isWaiting).toBe(true);
    });
    expect(await waiting).toMatchObject({ outcome: 'opened' });
    await assertSoundBooks(store);
  });

  it('answers other accounts while a burst of budgeted jobs waits for the row of its account', async () => {
    const store = await open({ poolSize: 4 });
    const [busy, other] = [await addAccount(store), await addAccount(store)];
    const openBudgeted = (owner: Owner) =>
      store.openJob(opening(runningJob(owner, { isBudgeted: true }), { hold: 1n }));
    let opened = 0;
    let burst: Promise<unknown>[] = [];
    await whileLocked(busy.accountId, async () => {
      burst = Array.from({ length: 20 }, () => openBudgeted(busy).finally(() => (opened += 1)));
      expect(await store.getAccount(other.accountId)).not.toBeNull();
      expect(await store.openJob(opening(runningJob(other)))).toMatchObject({ outcome: 'opened' });
      expect(await openBudgeted(other)).toMatchObject({ outcome: 'opened' });
      expect(opened).toBe(0);
    });
    for (const outcome of await Promise.all(burst)) expect(outcome).toMatchObject({ outcome: 'opened' });
    await assertSoundBooks(store);
  });

  it('answers other accounts while many jobs of an account that end wait for its row', async () => {
    const store = await open({ poolSize: 4, connectTimeoutMs: 2_000 });
    const [busy, other] = [await addAccount(store), await addAccount(store)];
    const begin = (owner: Owner) => openJob(store, opening(runningJob(owner), { hold: 1n }));
    const end = ({ accountId }: Owner, id: string) =>
      store.finishJob(finishing(id, { accountId, charge: 1n }));
    const ids = await Promise.all(Array.from({ length: 20 }, () => begin(busy)));
    const ofOther = await begin(other);
    let ending: Promise<unknown>[] = [];
    await whileLocked(busy.accountId, async () => {
      ending = ids.map((id) => end(busy, id));
      await expect(Promise.race(ending)).rejects.toMatchObject({ reason: 'overloaded' });
      expect(await end(other, ofOther)).toMatchObject({ outcome: 'finished' });
    });
    await Promise.allSettled(ending);
    await Promise.all(ids.map((id) => end(busy, id)));
    expect(await available(store, busy.accountId)).toBe(980n);
    await assertSoundBooks(store);
  });

  it('refuses a budgeted job if too many of its account wait, and does not try it', async () => {
    const store = await open({ poolSize: 4, maxWaiting: 4 });
    const owner = await addAccount(store);
    const jobs = [1, 2, 3].map(() => runningJob(owner, { isBudgeted: true }));
    const results = await Promise.allSettled(jobs.map((job) => store.openJob(opening(job))));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect(results[2]).toMatchObject({ reason: { reason: 'overloaded' } });
    expect(await available(store, owner.accountId)).toBe(800n);
  });

  it('refuses a command if too many wait, does not try it and answers the others', async () => {
    const store = await open({ maxWaiting: 4 });
    const { accountId } = await addAccount(store, { balance: 0n });
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) => topUp(store, accountId, `entry ${index}`)),
    );
    const refused = results.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(6);
    for (const result of refused) expect(result).toMatchObject({ reason: { reason: 'overloaded' } });
    expect(await available(store, accountId)).toBe(40n);
  });

  it('answers waiting commands before it closes, and refuses later ones', async () => {
    const store = await open();
    const { accountId } = await addAccount(store, { balance: 0n });
    const waiting = Array.from({ length: 20 }, (_, index) => topUp(store, accountId, `entry ${index}`));
    const closing = store.close();
    await expect(topUp(store, accountId, 'late')).rejects.toMatchObject({ reason: 'closed' });
    await closing;
    for (const answer of waiting) expect(await answer).toMatchObject({ outcome: 'posted' });
    await store.close();
    expect(await available(await open(), accountId)).toBe(200n);
  });
});
