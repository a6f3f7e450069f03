import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Pool } from 'pg';
import { silentLog } from '../../src/kit/log.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { addAccount, finishing, opening, runningJob, start, type Owner } from '../../test/store/builders.ts';
import { postgresUrl } from '../../test/store/open-store-at.ts';
import { withLoopDelay } from '../leads/measure/loop-delay.ts';
import type { BenchOptions } from './bench.ts';
import { postgresCpuMs } from './process-usage.ts';
import type { Section } from './results.ts';
import { boundRow, figure, median, type Row } from './row.ts';

const callers = 64;
const limitSeconds = 0.4;
const jobSeconds = 1.2;
const mostLoopMs = 5;
const balance = 10n ** 15n;
const result = JSON.stringify({ object: 'chat.completion', content: ' word'.repeat(130) });
const metadata = JSON.stringify({ sandbox: false, provider: 'up' });

type LedgerOptions = Pick<BenchOptions, 'rounds' | 'say'>;

/** Null: the embedded store. */
type DatabaseUrl = string | null;

/** Runs `work` again and again for each caller. Returns how often it ran. */
const repeat = async (seconds: number, work: (turn: number) => Promise<void>): Promise<number> => {
  const endMs = performance.now() + seconds * 1000;
  let turn = 0;
  const call = async (): Promise<void> => {
    while (performance.now() < endMs) await work(turn++);
  };
  await Promise.all(Array.from({ length: callers }, call));
  return turn;
};

/** Syncs of four kilobytes at the end of a file, one after the other. */
const measureSyncs = (folder: string, seconds: number): number => {
  const file = openSync(join(folder, 'bench-syncs'), 'a');
  const bytes = Buffer.alloc(4096, 1);
  const endMs = performance.now() + seconds * 1000;
  let count = 0;
  for (; performance.now() < endMs; count += 1) {
    writeSync(file, bytes);
    fdatasyncSync(file);
  }
  closeSync(file);
  return count / seconds;
};

/** Inserts of one row, over as many connections as the store has. */
const measureCommits = async (url: string, seconds: number): Promise<number> => {
  const pool = new Pool({ connectionString: url, max: 10 });
  await pool.query('create table if not exists bench_commits (at bigint)');
  const insert = { name: 'insert', text: 'insert into bench_commits values ($1)', values: [start] };
  const count = await repeat(seconds, async () => void (await pool.query(insert)));
  await pool.end();
  return count / seconds;
};

const openAndFinish = async (store: Store, owner: Owner): Promise<void> => {
  const job = runningJob(owner, { request: '' });
  const { outcome } = await store.openJob(opening(job));
  const done = await store.finishJob(finishing(job.id, { result, metadata }));
  if (outcome !== 'opened' || done.outcome !== 'finished')
    throw new Error(`A job was ${outcome} and ${done.outcome}.`);
};

/** Opens and finishes jobs for some seconds. Processor times are of one job, in microseconds. */
const measureJobs = async (
  store: Store,
  { owners, seconds, url }: { owners: Owner[]; seconds: number; url: DatabaseUrl },
) => {
  const databaseMs = () => (url === null ? 0 : postgresCpuMs(new URL(url).pathname.slice(1)));
  const before = await databaseMs();
  const cpu = process.cpuUsage();
  const { result: count, delay } = await withLoopDelay(() =>
    repeat(seconds, (turn) => openAndFinish(store, owners[turn % owners.length]!)),
  );
  const { user, system } = process.cpuUsage(cpu);
  const databaseUs = (((await databaseMs()) - before) * 1000) / count;
  return { perSecond: count / seconds, cpuUs: (user + system) / count, databaseUs, ...delay };
};

/** Measures one store with 16 accounts and with one. `least`: the jobs a second that each should reach. */
const measureStore = async (
  { rounds, say }: LedgerOptions,
  { url, least }: { url: DatabaseUrl; least: { 16: number; 1: number } },
): Promise<{ rows: Row[]; lines: string[] }> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'causeway-bench-'));
  const store = await openStore({ dataDir, databaseUrl: url }, { log: silentLog });
  const [name, unit] = url === null ? ['SQLite', 'fsyncs/s'] : ['PostgreSQL', 'commits/s'];
  const rows: Row[] = [];
  const lines: string[] = [];
  try {
    const owners = await Promise.all(Array.from({ length: 16 }, () => addAccount(store, { balance })));
    await measureJobs(store, { owners, seconds: 0.5, url });
    const limits: number[] = [];
    const samples: Record<16 | 1, Awaited<ReturnType<typeof measureJobs>>[]> = { 16: [], 1: [] };
    for (let round = 0; round < rounds; round += 1) {
      limits.push(
        url === null ? measureSyncs(dataDir, limitSeconds) : await measureCommits(url, limitSeconds),
      );
      for (const accounts of [16, 1] as const) {
        const some = { owners: owners.slice(0, accounts), seconds: jobSeconds, url };
        samples[accounts].push(await measureJobs(store, some));
      }
    }
    for (const accounts of [16, 1] as const) {
      const middle = (key: 'perSecond' | 'cpuUs' | 'databaseUs' | 'max' | 'longestWork'): number =>
        median(samples[accounts].map((sample) => sample[key]));
      const work = `${name}, ${accounts === 1 ? 'one account' : `${accounts} accounts`}`;
      const goal = { work, unit: 'jobs/s', limit: median(limits), measured: middle('perSecond') };
      rows.push({ ...boundRow({ ...goal, least: least[accounts] }), limit: `${figure(goal.limit)} ${unit}` });
      const hold = { work: `${work}: longest hold of the loop`, unit: 'ms', measured: middle('max') };
      if (url === null) rows.push(boundRow({ ...hold, most: mostLoopMs }));
      const cpu = `- ${work}: ${figure(middle('cpuUs'))} µs CPU a job`;
      lines.push(
        url === null
          ? `${cpu}; the loop's longest work without a pause was ${figure(middle('longestWork'))} ms.`
          : `${cpu}, and ${figure(middle('databaseUs'))} µs of the database.`,
      );
      say(`${work}: ${figure(goal.measured)} jobs/s beside ${figure(goal.limit)} ${unit}`);
    }
  } finally {
    await store.close();
    await rm(dataDir, { recursive: true, force: true });
  }
  return { rows, lines };
};

/** Runs `work` with an empty database. Null when PostgreSQL does not answer. */
export const withDatabase = async <T>(work: (url: string) => Promise<T>): Promise<T | null> => {
  const client = new Client({ connectionString: postgresUrl, connectionTimeoutMillis: 3_000 });
  const isThere = await client.connect().then(
    () => true,
    () => false,
  );
  if (!isThere) return null;
  const name = `causeway_bench_${process.pid}`;
  try {
    await client.query(`create database ${name}`);
    const url = new URL(postgresUrl);
    url.pathname = `/${name}`;
    return await work(url.href);
  } finally {
    await client.query(`drop database if exists ${name} with (force)`);
    await client.end();
  }
};

/** Jobs opened and finished a second by 64 callers through the store, beside the commits of its disk or database. */
export const measureLedger = async (options: LedgerOptions): Promise<Section> => {
  const own = await measureStore(options, { url: null, least: { 16: 12_000, 1: 12_000 } });
  const shared = await withDatabase((url) => measureStore(options, { url, least: { 16: 3_000, 1: 2_000 } }));
  const missing = { rows: [], lines: ['- PostgreSQL does not answer, so it was not measured.'] };
  const { rows, lines } = shared ?? missing;
  return { rows: [...own.rows, ...rows], lines: [[...own.lines, ...lines].join('\n')] };
};
