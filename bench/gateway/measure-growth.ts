import { readFile } from 'node:fs/promises';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { systemClock } from '../../src/kit/clock.ts';
import { newId } from '../../src/kit/ids.ts';
import { silentLog } from '../../src/kit/log.ts';
import { nanoPerUsd } from '../../src/kit/money.ts';
import { credit } from '../../src/accounts/ledger/entries.ts';
import { embeddedStoreFile, openStore } from '../../src/store/open-store.ts';
import { withBench, type Bench, type BenchOptions } from './bench.ts';
import { cpuMsOf, residentMiBOf } from './process-usage.ts';
import type { Section } from './results.ts';
import { figure } from './row.ts';
import { burst, withKey } from './run-works.ts';
import { makeSite, startGateway, untilReady, type Site } from './start-gateway.ts';
import { chat, read, works } from './workload.ts';
import { issueKey } from '../../src/accounts/keys.ts';

type Table = NonNullable<Section['tables']>[number];

const connections = 4;
const measured = [
  ...works.filter(({ name }) => name === 'chat JSON' || name === 'MCP get_balance'),
  read('/v1/jobs', { status: 200, text: '"data"' }),
  read('/v1/usage', { status: 200, text: 'by_model' }),
];
const costHead = ['start, s', 'memory at first, MiB', ...measured.map(({ name }) => `${name}, µs CPU`)];

/** Starts a gateway on the folder. Returns its costs: of the start, and of each work after a warm-up. */
const costsOf = async (site: Site, keys: readonly string[], seconds: number): Promise<string[]> => {
  const startedMs = performance.now();
  const gateway = await startGateway(site.environment);
  const costs = [(performance.now() - startedMs) / 1000];
  try {
    await untilReady(gateway.url);
    costs.push(await residentMiBOf(gateway.pid));
    for (const work of measured) {
      await burst(gateway, work, { keys, connections, seconds: seconds / 2 });
      costs.push((await burst(gateway, work, { keys, connections, seconds })).cpuUs);
    }
    return costs.map(figure);
  } finally {
    await gateway.stop();
  }
};

const jobsAtOnce = 50_000;

/** Copies a finished job with its hold and its debit, until the store has `count` jobs. */
const addJobs = (site: Site, count: number): void => {
  const store = new DatabaseSync(embeddedStoreFile(site.dataDir));
  store.exec('pragma synchronous = off; pragma cache_size = -1000000; begin');
  const one = (sql: string, ...values: SQLInputValue[]): Record<string, SQLInputValue> =>
    store.prepare(sql).get(...values) as Record<string, SQLInputValue>;
  const copier = (table: string, row: Record<string, SQLInputValue>) => {
    const places = Object.keys(row).map(() => '?');
    const insert = store.prepare(
      `insert into ${table} (${Object.keys(row).join()}) values (${places.join()})`,
    );
    return (changes: Record<string, SQLInputValue>) => insert.run(...Object.values({ ...row, ...changes }));
  };
  const debit = one(`select * from ledger_entries where type = 'debit' limit 1`);
  const { job_id: first = null, amount = 0 } = debit;
  const job = one('select * from jobs where id = ?', first);
  const addJob = copier('jobs', job);
  const addHold = copier('holds', one('select * from holds where job_id = ?', first));
  const addDebit = copier('ledger_entries', debit);
  const missing = Math.max(count - Number(one('select count(*) as jobs from jobs')['jobs']), 0);
  for (let place = 1; place <= missing; place += 1) {
    const id = newId();
    const created_at = Number(job['created_at']) - place;
    addJob({ id, created_at });
    addHold({ job_id: id });
    addDebit({ id: newId(), job_id: id, created_at });
    // The write-ahead log of a single transaction would grow as large as the store.
    if (place % jobsAtOnce === 0) store.exec('commit; begin');
  }
  const change = store.prepare('update accounts set balance = balance + ? where id = ?');
  change.run(Number(amount) * missing, site.accountId);
  store.exec('commit');
  store.close();
};

const growJobs = async ({ upstreamPort, environment, seconds, say }: Bench): Promise<Table> => {
  const site = await makeSite(upstreamPort, environment);
  const rows: string[][] = [];
  try {
    // One of its jobs is copied.
    await costsOf(site, [site.apiKey], 0.1);
    for (const count of [1_000, 10_000, 100_000, 1_000_000]) {
      addJobs(site, count);
      rows.push([figure(count), ...(await costsOf(site, [site.apiKey], seconds))]);
      say(`jobs: ${rows.at(-1)?.join(', ')}`);
    }
  } finally {
    await site.remove();
  }
  return { title: 'Jobs in the store, all of one account', head: ['jobs', ...costHead], rows };
};

/** Adds accounts with money, and returns a key of each. */
const addAccounts = async ({ dataDir }: Site, count: number): Promise<string[]> => {
  const store = await openStore({ dataDir, databaseUrl: null }, { log: silentLog });
  const services = { store, clock: systemClock };
  const add = async (): Promise<string> => {
    const accountId = newId();
    await store.createAccount({ id: accountId, name: 'One of many', status: 'active', now: Date.now() });
    await credit(services, { accountId, amount: 1_000n * nanoPerUsd, reason: 'bench' });
    const issued = await issueKey(services, { accountId, label: '', brand: 'causeway' });
    if (issued.outcome !== 'issued') throw new Error(`A key was not issued: ${issued.outcome}`);
    return issued.key;
  };
  const keys: string[] = [];
  while (keys.length < count)
    keys.push(...(await Promise.all(Array.from({ length: Math.min(500, count - keys.length) }, add))));
  await store.close();
  return keys;
};

const growAccounts = async ({ site, seconds, say }: Bench): Promise<Table> => {
  const rows: string[][] = [];
  const keys: string[] = [];
  for (const count of [1, 100, 10_000]) {
    keys.push(...(await addAccounts(site, count - keys.length)));
    rows.push([figure(count), ...(await costsOf(site, keys, seconds))]);
    say(`accounts: ${rows.at(-1)?.join(', ')}`);
  }
  return { title: 'Accounts that call in turns', head: ['accounts', ...costHead], rows };
};

/** A stream takes two sockets of the gateway. Some files are its own. */
const mostStreams = async (): Promise<number> => {
  const limits = await readFile('/proc/self/limits', 'latin1');
  const files = Number(/^Max open files\s+\d+\s+(\d+)/m.exec(limits)?.[1] ?? Infinity);
  return Math.min(10_000, Math.floor((files - 500) / 2));
};

/** Long enough for each lease of a job to be renewed. */
const idleSeconds = 12;

const growStreams = async ({ site, say }: Bench): Promise<Table> => {
  const rows: string[][] = [];
  for (const count of [1_000, await mostStreams()]) {
    const gateway = await startGateway(site.environment);
    await untilReady(gateway.url);
    const pool = new Pool(gateway.url, { connections: count, pipelining: 1 });
    const request = withKey(chat('held', true), site.apiKey);
    const usage = () => Promise.all([residentMiBOf(gateway.pid), cpuMsOf(gateway.pid)]);
    const [memoryBefore, cpuBefore] = await usage();
    for (let open = 0; open < count; open += 100)
      await Promise.all(Array.from({ length: Math.min(100, count - open) }, () => pool.request(request)));
    const [memory, cpu] = await usage();
    await delay(idleSeconds * 1000);
    const [, cpuIdle] = await usage();
    const each = [((memory - memoryBefore) * 1024) / count, (cpu - cpuBefore) / count];
    rows.push([count, memoryBefore, memory, ...each, (cpuIdle - cpu) / idleSeconds / 10].map(figure));
    say(`streams: ${rows.at(-1)?.join(', ')}`);
    await pool.destroy();
    // It would wait for the streams, which have no end.
    await gateway.kill();
  }
  const head = ['streams', 'memory before, MiB', 'memory, MiB', 'KiB each', 'ms CPU to open each'];
  return { title: 'Idle streams of a chat', head: [...head, '% of a core while they wait'], rows };
};

/** Tables of how costs grow with accounts, streams and jobs. */
export const measureGrowth = (options: BenchOptions): Promise<Section> =>
  withBench(options, async (bench) => {
    // Each table starts its own gateways.
    await bench.gateway.stop();
    return { tables: [await growAccounts(bench), await growStreams(bench), await growJobs(bench)] };
  });
