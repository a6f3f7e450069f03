import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import type { LeadIndex } from '../../../src/leads/lead-index.ts';
import type { Lead, LeadSource } from '../../../src/leads/lead-source.ts';
import {
  openPostgresLeads,
  type PostgresLeadsOptions,
} from '../../../src/leads/postgres/open-postgres-leads.ts';
import { hasService } from '../../outside-services.ts';
import { buildLead } from '../build-lead.ts';
import { leadInputOf } from '../lead-input-of.ts';
import {
  createPostgresProfiles,
  type LockedTable,
  type PostgresProfiles,
} from './create-postgres-profiles.ts';

const { signal } = new AbortController();
let profiles: PostgresProfiles;
let keeper: LeadIndex;
let opened: LeadSource[] = [];

const people = (count: number, bio: string): Lead[] =>
  Array.from({ length: count }, (_, index) => buildLead({ username: `user${index}`, followers: index, bio }));
const take = (leads: readonly Lead[], mode: 'upsert' | 'replace' = 'replace') =>
  keeper.importLeads({ input: leadInputOf(leads), mode, signal });
const open = async (options: Partial<PostgresLeadsOptions> = {}): Promise<LeadSource> => {
  const leads = await openPostgresLeads({
    ...profiles.place,
    people: profiles.people,
    sweep: () => keeper.sweep(),
    openFictional: null,
    log: silentLog,
    ...options,
  });
  opened.push(leads);
  return leads;
};
const search = (leads: LeadSource, query = 'words'): Promise<Lead[]> =>
  leads.search({ query, limit: 100 }, { signal });
const currentTable = async (): Promise<string> =>
  String((await profiles.sql('select name from lead_set'))[0]?.['name']);

/** Fictional profiles, of which there is one. */
const createFictional = () => {
  const close = vi.fn<() => Promise<void>>(async () => undefined);
  const source: LeadSource = {
    search: async () => [buildLead({ username: 'fictional' })],
    status: () => ({ ready: true, synthetic: true, profiles: 1, revision: 'fictional' }),
    close,
  };
  return { openFictional: async () => source, close };
};

describe.runIf(hasService('PostgreSQL'))('the profiles in PostgreSQL', () => {
  beforeEach(async () => {
    profiles = await createPostgresProfiles();
    keeper = await profiles.openKeeper();
  });
  afterEach(async () => {
    for (const leads of opened) await leads.close();
    opened = [];
    await keeper.close();
    await profiles.remove();
  });

  it('are fictional until some were imported, and never again', async () => {
    const { openFictional, close } = createFictional();
    const leads = await open({ openFictional });
    expect(leads.status()).toMatchObject({ ready: true, synthetic: true });
    expect(await search(leads)).toMatchObject([{ username: 'fictional' }]);
    await take(people(12, 'words'));
    await vi.waitUntil(() => !leads.status().synthetic, { timeout: 60_000 });
    expect(await search(leads)).toHaveLength(12);
    expect(close).toHaveBeenCalledOnce();
    const { generation } = await keeper.stats();
    expect(leads.status()).toMatchObject({ ready: true, profiles: 12, revision: generation });
    await profiles.sql('delete from lead_set');
    await vi.waitUntil(() => !leads.status().ready, { timeout: 60_000 });
    await expect(search(leads)).rejects.toMatchObject({ code: 'upstream_error', status: 502 });
    await take(people(3, 'words'));
    await vi.waitUntil(() => leads.status().ready, { timeout: 60_000 });
    expect(await search(leads)).toHaveLength(3);
  });

  it('are nobody until some were imported where nothing is invented', async () => {
    const leads = await open();
    expect(leads.status()).toMatchObject({ ready: true, synthetic: false, profiles: 0 });
    expect(await search(leads)).toEqual([]);
    await take(people(1, 'words'));
    await vi.waitUntil(() => leads.status().profiles === 1, { timeout: 60_000 });
  });

  it('have another revision after a deletion, and facets', async () => {
    await take(
      Array.from({ length: 12 }, (_, index) => buildLead({ username: `user${index}`, country: 'FR' })),
    );
    const leads = await open();
    const { revision, facets } = leads.status();
    expect(facets).toEqual({ countries: [{ value: 'FR', profiles: 10 }], categories: [] });
    await keeper.forget(['user3'], { signal });
    await vi.waitUntil(() => leads.status().revision !== revision, { timeout: 60_000 });
    expect(leads.status().profiles).toBe(11);
  });

  it('are always of one set while imports replace them', async () => {
    await take(people(40, 'words'));
    const leads = await open();
    const imports = (async (): Promise<void> => {
      for (const count of [25, 60, 33, 50]) await take(people(count, 'words'));
    })();
    let isOver = false;
    void imports.finally(() => (isOver = true));
    const sizes = new Set<number>();
    while (!isOver)
      for (const found of await Promise.all([search(leads), search(leads)])) sizes.add(found.length);
    await imports;
    expect([25, 33, 40, 50, 60]).toEqual(expect.arrayContaining([...sizes]));
    expect(sizes.size).toBeGreaterThan(1);
  });

  it('are found where their table is removed under a search', async () => {
    await take(people(40, 'former words'));
    const leads = await open({ searchTimeoutMs: 60_000 });
    const name = await currentTable();
    let reads = 0;
    const locked = Promise.withResolvers<{ table: LockedTable; searching: Promise<Lead[]> }>();
    const searchWhileLocked = async (): Promise<void> => {
      const table = await profiles.lockTable(name);
      const searching = search(leads);
      await table.hasWaiter();
      locked.resolve({ table, searching });
    };
    const importer = await profiles.openKeeper({
      ...profiles.people,
      read: async () => {
        reads += 1;
        // The comparison under the lock of the list, just before the switch.
        if (reads === 3) await searchWhileLocked();
        return profiles.people.read();
      },
    });
    const input = leadInputOf(people(15, 'next words'));
    const importing = importer.importLeads({ input, mode: 'replace', signal });
    const { table, searching } = await locked.promise;
    await vi.waitUntil(async () => (await currentTable()) !== name, { timeout: 60_000 });
    await table.release(`drop table ${name}`);
    expect(await searching).toHaveLength(15);
    expect(await importing).toMatchObject({ profiles: 15 });
    await importer.close();
  });

  it('are refused while two searches run, after a second, and to a search that takes too long', async () => {
    await take(people(40, 'words'));
    const [patient, leads] = [await open({ searchTimeoutMs: 60_000 }), await open({ searchTimeoutMs: 100 })];
    const table = await profiles.lockTable(await currentTable());
    const running = [search(patient), search(patient)];
    await table.hasWaiter(2);
    await expect(search(patient)).rejects.toMatchObject({
      code: 'upstream_error',
      message: expect.stringContaining('Too many searches'),
    });
    await expect(search(leads)).rejects.toMatchObject({
      code: 'upstream_error',
      message: expect.stringContaining('took too long'),
    });
    await table.release();
    for (const found of await Promise.all(running)) expect(found).toHaveLength(40);
    await vi.waitFor(async () => expect(await search(leads)).toHaveLength(40), 60_000);
  });

  it('end a search that its caller leaves', async () => {
    await take(people(40, 'words'));
    const leads = await open();
    const table = await profiles.lockTable(await currentTable());
    const leaving = new AbortController();
    const searching = leads.search({ limit: 5 }, { signal: leaving.signal });
    const outcome = searching.catch((error: unknown) => error);
    await table.hasWaiter();
    const reason = new Error('the caller has left');
    leaving.abort(reason);
    expect(await outcome).toBe(reason);
    await table.release();
  });

  it('are not ready while PostgreSQL is away, and come back by themselves', async () => {
    await take(people(40, 'words'));
    const gate = await openGate(profiles.place.url);
    const leads = await open({ url: gate.url });
    expect(await search(leads)).toHaveLength(40);
    await gate.shut();
    await vi.waitUntil(() => !leads.status().ready, { timeout: 60_000 });
    await expect(search(leads)).rejects.toMatchObject({ code: 'upstream_error', status: 502 });
    await gate.open();
    await vi.waitUntil(() => leads.status().ready, { timeout: 60_000 });
    expect(await search(leads)).toHaveLength(40);
    await gate.shut();
  });

  it('are not searched where the store lacks the list that they were compared with', async () => {
    await take(people(4, 'words'));
    await profiles.sql(`update lead_set set list = 'another', generation = 'another'`);
    const leads = await open();
    expect(leads.status().ready).toBe(false);
    await expect(search(leads)).rejects.toMatchObject({ code: 'upstream_error' });
  });

  it('lose people whose deletion ended early as soon as a gateway opens them', async () => {
    await take(people(4, 'words'));
    await profiles.people.add(['user2']);
    const leads = await open();
    await vi.waitUntil(() => leads.status().profiles === 3, { timeout: 60_000 });
    expect(await profiles.sql(`select 1 from ${await currentTable()} where username = 'user2'`)).toEqual([]);
  });
});

/** A way to a server that can be shut. */
const openGate = async (address: string) => {
  const target = new URL(address);
  const sockets = new Set<Socket>();
  let server: Server | null = null;
  let port = 0;
  const url = new URL(address);
  const open = async (): Promise<void> => {
    server = createServer((socket) => {
      const other = connect(Number(target.port || 5432), target.hostname);
      for (const one of [socket, other]) {
        sockets.add(one);
        one.on('error', () => undefined);
      }
      socket.pipe(other).pipe(socket);
    }).listen(port, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
    url.hostname = '127.0.0.1';
    url.port = String(port);
  };
  await open();
  return {
    url: url.href,
    open,
    shut: async (): Promise<void> => {
      for (const socket of sockets) socket.destroy();
      server?.close();
      if (server !== null) await once(server, 'close');
    },
  };
};
