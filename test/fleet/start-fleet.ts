import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { startGatewayProcess, type GatewayProcess } from '../../scripts/gateway-process.ts';
import { silentLog } from '../../src/kit/log.ts';
import { openPostgresStore } from '../../src/store/postgres/open-postgres-store.ts';
import type { Store } from '../../src/store/store.ts';
import { freePort } from '../limits/listening-port.ts';
import { createRedisServer } from '../limits/redis-server.ts';
import { startChains, type Chains } from '../chains/start-chains.ts';
import { createTestDatabase } from '../cli/test-database.ts';
import { layDataFolder } from '../data-template.ts';
import { startS3Server } from '../media/s3-server.ts';
import { poolerUrl } from '../store/open-store-at.ts';
import { startProgram } from './start-program.ts';

/** A gateway process that can be killed, and started again on its port and folder. */
export interface Replica {
  start(): Promise<void>;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
}

/** Two gateways behind nginx, with one PostgreSQL behind PgBouncer, Redis, a bucket and local chains. */
export interface Fleet {
  /** The address of nginx. */
  url: string;
  chains: Chains;
  /** Opened without the pooler. */
  store: Store;
  sql<Row>(text: string, ...values: unknown[]): Promise<Row[]>;
  replicas: readonly [Replica, Replica];
  stop(): Promise<void>;
}

type Stop = () => Promise<unknown>;

export const startFleet = async (): Promise<Fleet> => {
  const stops: Stop[] = [];
  const stop = async (): Promise<void> => {
    for (const one of stops.splice(0).toReversed()) await one();
  };
  try {
    return { ...(await startParts((one) => stops.push(one))), stop };
  } catch (error) {
    await stop();
    throw error;
  }
};

const startParts = async (onStop: (stop: Stop) => void): Promise<Omit<Fleet, 'stop'>> => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-fleet-'));
  onStop(() => rm(folder, { recursive: true, force: true }));
  const database = await startDatabase(onStop);
  const redis = await createRedisServer();
  onStop(() => redis.remove());
  await redis.start();
  const s3 = await startS3Server();
  onStop(() => s3.stop());
  const chains = await startChains();
  onStop(() => chains.stop());

  const [port, ...replicaPorts] = [await freePort(), await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const environment = {
    ...chains.environment,
    ...database.environment,
    REDIS_URL: redis.url,
    MEDIA_URL: `s3://${s3.config.bucket}/fleet`,
    S3_ENDPOINT: s3.config.endpoint,
    S3_ACCESS_KEY_ID: s3.config.accessKeyId,
    S3_SECRET_ACCESS_KEY: s3.config.secretAccessKey,
    PUBLIC_URL: url,
    TRUSTED_PROXY_HOPS: '1',
    ALLOW_LOOPBACK_URLS: 'true',
    REQUESTS_PER_MINUTE: '100000',
    CHAT_DEADLINE_MS: '10000',
    IMAGE_DEADLINE_MS: '10000',
    SYNTHETIC_PROFILES: '500',
    LOG_LEVEL: process.env['FLEET_LOG'] ?? 'error',
  };
  const replicaAt = (place: 0 | 1): Replica => {
    const dataDir = join(folder, `replica-${place}`);
    layDataFolder(dataDir);
    let gateway: GatewayProcess | null = null;
    const kill = async (): Promise<void> => {
      await gateway?.kill();
      gateway = null;
    };
    onStop(kill);
    return {
      start: async () => {
        gateway = await startGatewayProcess({
          ...environment,
          DATA_DIR: dataDir,
          PORT: `${replicaPorts[place]}`,
        });
        await whenReady(gateway.url);
      },
      kill,
    };
  };
  const replicas = [replicaAt(0), replicaAt(1)] as const;
  for (const replica of replicas) await replica.start();
  onStop(await startNginx(folder, { port, replicaPorts }));
  return { url, chains, store: database.store, sql: database.sql, replicas };
};

/** Makes a database as docs/operators.md says, with a store that does not use the pooler. */
const startDatabase = async (onStop: (stop: Stop) => void) => {
  const database = await createTestDatabase();
  if (database === null || poolerUrl === undefined) throw new Error('a fleet needs PostgreSQL and PgBouncer');
  onStop(() => database.drop());
  const client = new Client({ connectionString: database.url });
  await client.connect();
  onStop(() => client.end());
  const { pathname } = new URL(database.url);
  for (const name of ['statement_timeout', 'idle_in_transaction_session_timeout'])
    await client.query(`alter database ${pathname.slice(1)} set ${name} = '10s'`);
  const store = await openPostgresStore({ url: database.url, log: silentLog });
  onStop(() => store.close());
  const pooled = new URL(poolerUrl);
  pooled.pathname = pathname;
  return {
    store,
    sql: async <Row>(text: string, ...values: unknown[]): Promise<Row[]> =>
      (await client.query(text, values)).rows as Row[],
    environment: { DATABASE_URL: pooled.href, DATABASE_DIRECT_URL: database.url },
  };
};

const readyWithinMs = 30_000;

/** Waits until a gateway takes work and every network can be paid on. */
const whenReady = async (url: string): Promise<void> => {
  const deadline = performance.now() + readyWithinMs;
  for (;;) {
    const response = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(readyWithinMs) });
    const body = (await response.json()) as { payments: { ready: boolean }[] };
    if (response.ok && body.payments.every(({ ready }) => ready)) return;
    if (performance.now() > deadline)
      throw new Error(`a gateway of the fleet is not ready: ${JSON.stringify(body)}`);
    await delay(50);
  }
};

/** Starts nginx with deploy/nginx.conf. Only addresses and folders differ. */
const startNginx = async (
  folder: string,
  { port, replicaPorts }: { port: number; replicaPorts: number[] },
): Promise<Stop> => {
  const text = await readFile(new URL('../../deploy/nginx.conf', import.meta.url), 'utf8');
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const folders = places.map((name) => `${name}_temp_path ${folder}/nginx-${name};`).join(' ');
  const changes: [string, string][] = [
    ['gateway-1:8402', `127.0.0.1:${replicaPorts[0]}`],
    ['gateway-2:8402', `127.0.0.1:${replicaPorts[1]}`],
    ['listen 80;', `listen 127.0.0.1:${port};`],
    ['http {', `http { ${folders}`],
  ];
  const changed = changes.reduce((config, [from, to]) => {
    if (!config.includes(from)) throw new Error(`deploy/nginx.conf has no "${from}"`);
    return config.replace(from, to);
  }, text);
  const file = join(folder, 'nginx.conf');
  await writeFile(file, changed);
  const user = process.getuid?.() === 0 ? ' user root;' : '';
  const globals = `daemon off; pid ${folder}/nginx.pid;${user}`;
  return startProgram('nginx', { args: ['-e', 'stderr', '-p', folder, '-c', file, '-g', globals], port });
};
