import { Client } from 'pg';
import type { BenchPlace } from './engine.ts';

const nameOf = ({ profileCount }: BenchPlace): string => `causeway_leads_bench_${profileCount}`;

/** The address of the benchmark's own database, which nothing else uses. */
export const benchDatabaseUrl = (place: BenchPlace): string => {
  const url = new URL(place.serverUrl);
  url.pathname = `/${nameOf(place)}`;
  return url.href;
};

/** An empty database, in place of one that an earlier run may have left. */
export const createBenchDatabase = async (place: BenchPlace): Promise<void> => {
  await dropBenchDatabase(place);
  await onServer(place, (client) => client.query(`create database ${nameOf(place)}`));
};

export const dropBenchDatabase = async (place: BenchPlace): Promise<void> => {
  await onServer(place, (client) => client.query(`drop database if exists ${nameOf(place)} with (force)`));
};

const onServer = async (
  { serverUrl }: BenchPlace,
  work: (client: InstanceType<typeof Client>) => Promise<unknown>,
): Promise<void> => {
  const client = new Client({ connectionString: serverUrl, connectionTimeoutMillis: 5_000 });
  try {
    await client.connect();
    await work(client);
  } catch (cause) {
    const { host } = new URL(serverUrl);
    throw new Error(`PostgreSQL at ${host} does not do what the benchmark needs; see bench/README.md`, {
      cause,
    });
  } finally {
    await client.end();
  }
};
