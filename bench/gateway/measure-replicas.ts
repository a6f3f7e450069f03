import { Client } from 'pg';
import type { GatewayProcess } from '../../scripts/gateway-process.ts';
import { withBench, type Bench, type BenchOptions } from './bench.ts';
import type { Core } from './cores.ts';
import { runLoad, type LoadRequest } from './load.ts';
import { withDatabase } from './measure-ledger.ts';
import { cpuMsOf, postgresCpuMs } from './process-usage.ts';
import type { Section } from './results.ts';
import { figure, median } from './row.ts';
import { withKey } from './run-works.ts';
import { makeSite, startGateway, untilReady } from './start-gateway.ts';
import { chat } from './workload.ts';

/** Of all gateways together. */
const connections = 64;

/** The gateways of a row, by the core that each has. */
const fleets: { name: string; cores: Core[] }[] = [
  { name: 'one, on core 1', cores: ['gateway'] },
  { name: 'two, both on core 1', cores: ['gateway', 'gateway'] },
  { name: 'two, on core 1 and on core 0 beside client and upstream', cores: ['gateway', 'client'] },
];

interface Sample {
  /** Chats a second. */
  perSecond: number;
  /** Processor time of the gateways, and of the database, for a chat. */
  gatewayUs: number;
  databaseUs: number;
  /** In cores. */
  gatewayLoad: number;
  databaseLoad: number;
  /** Of the database, for a chat. */
  commits: number;
}

interface Fleet {
  gateways: readonly GatewayProcess[];
  request: LoadRequest;
  seconds: number;
  database: InstanceType<typeof Client>;
  databaseName: string;
}

const measureFleet = async ({ gateways, request, seconds, ...fleet }: Fleet): Promise<Sample> => {
  const usage = async (): Promise<[number, number, number]> => {
    const own = await Promise.all(gateways.map(({ pid }) => cpuMsOf(pid)));
    const { rows } = await fleet.database.query<{ commits: string }>(
      'select xact_commit as commits from pg_stat_database where datname = current_database()',
    );
    return [
      own.reduce((sum, ms) => sum + ms, 0),
      await postgresCpuMs(fleet.databaseName),
      Number(rows[0]?.commits),
    ];
  };
  const next = { request, expected: { status: 200, text: 'completion_tokens' } };
  const before = await usage();
  const loads = await Promise.all(
    gateways.map(({ url }) =>
      runLoad({ url, connections: connections / gateways.length, seconds, next: () => next }),
    ),
  );
  const after = await usage();
  const [gatewayMs, databaseMs, commits] = [0, 1, 2].map(
    (place) => (after[place] ?? 0) - (before[place] ?? 0),
  );
  const chats = loads.reduce((sum, { timesMs }) => sum + timesMs.length, 0);
  const lastedMs = Math.max(...loads.map((load) => load.seconds)) * 1000;
  return {
    perSecond: (chats * 1000) / lastedMs,
    gatewayUs: ((gatewayMs ?? 0) * 1000) / chats,
    databaseUs: ((databaseMs ?? 0) * 1000) / chats,
    gatewayLoad: (gatewayMs ?? 0) / lastedMs,
    databaseLoad: (databaseMs ?? 0) / lastedMs,
    commits: (commits ?? 0) / chats,
  };
};

const middleOf = (samples: readonly Sample[], key: keyof Sample): number =>
  median(samples.map((sample) => sample[key]));

const columns: readonly (keyof Sample)[] = [
  'perSecond',
  'gatewayUs',
  'databaseUs',
  'gatewayLoad',
  'databaseLoad',
  'commits',
];
const head = [
  'gateways',
  'chats a second',
  'µs CPU of a gateway for a chat',
  'µs CPU of the database for a chat',
  'cores that the gateways used',
  'cores that the database used',
  'commits for a chat',
];

/** Says how many gateways one database serves, from what each part needs for a chat. */
const describeBounds = (gatewayUs: number, databaseUs: number): string =>
  `One core of a gateway is enough for ${figure(1e6 / gatewayUs)} chats a second, and one core of the database for ` +
  `${figure(1e6 / databaseUs)}: so a core of the database serves ${figure(gatewayUs / databaseUs)} cores of gateways. ` +
  'With two cores in all, client, upstream and database take the core that a second gateway would need.';

const compare = async (bench: Bench, url: string): Promise<Section> => {
  const site = await makeSite(bench.upstreamPort, { ...bench.environment, DATABASE_URL: url });
  const request = withKey(chat('at-once', false), site.apiKey);
  const database = new Client({ connectionString: url });
  await database.connect();
  const rows: string[][] = [];
  const lines: string[] = [];
  try {
    for (const { name, cores } of fleets) {
      const gateways: GatewayProcess[] = [];
      try {
        for (const [place, core] of cores.entries()) {
          // A data folder belongs to one gateway.
          const DATA_DIR = `${site.dataDir}-${place}`;
          gateways.push(await startGateway({ ...site.environment, DATA_DIR }, core));
        }
        for (const gateway of gateways) await untilReady(gateway.url);
        const fleet = { gateways, request, database, databaseName: new URL(url).pathname.slice(1) };
        await measureFleet({ ...fleet, seconds: bench.seconds });
        const samples: Sample[] = [];
        for (let round = 0; round < bench.rounds; round += 1)
          samples.push(await measureFleet({ ...fleet, seconds: bench.seconds * 3 }));
        rows.push([name, ...columns.map((key) => figure(middleOf(samples, key)))]);
        bench.say(`gateways: ${rows.at(-1)?.join(', ')}`);
        if (gateways.length === 1)
          lines.push(describeBounds(middleOf(samples, 'gatewayUs'), middleOf(samples, 'databaseUs')));
      } finally {
        for (const gateway of gateways) await gateway.stop();
      }
    }
  } finally {
    await database.end();
    await site.remove();
  }
  return { tables: [{ title: 'Gateways on one PostgreSQL', head, rows }], lines };
};

/** Chats on one gateway beside those on two, with the processor time of their one PostgreSQL. */
export const measureReplicas = (options: BenchOptions): Promise<Section> =>
  withBench(options, async (bench) => {
    // Each row starts its own gateways.
    await bench.gateway.stop();
    const section = await withDatabase((url) => compare(bench, url));
    return section ?? { lines: ['PostgreSQL does not answer, so nothing was measured.'] };
  });
