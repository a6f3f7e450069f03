import { Client, Pool as PgPool, TypeOverrides, type ClientConfig } from 'pg';
import { clientConfig, type Pool } from '../../store/postgres/connection.ts';

export type LeadsClient = InstanceType<typeof Client>;

export interface LeadsDatabase {
  /** `postgres://` URL. */
  url: string;
  /** The schema that holds the tables; made when missing. Lower-case letters, digits and underscores. */
  schema: string;
}

const connectTimeoutMs = 5_000;

export interface CreateLeadsPoolOptions {
  /** Connections at most. */
  size: number;
  statementTimeoutMs: number;
  /** Told of a connection that broke while nobody used it. */
  onBroken: (error: Error) => void;
}

/** Many connections, for searches; they break and come back by themselves. */
export const createLeadsPool = (
  database: LeadsDatabase,
  { size, statementTimeoutMs, onBroken }: CreateLeadsPoolOptions,
): Pool => {
  const pool = new PgPool({ ...configOf(database, statementTimeoutMs), max: size });
  // The pool replaces a connection that broke while it was idle; unheard, the event would end the process.
  pool.on('error', onBroken);
  // While a connection is in use the pool does not listen for it. The commands on it are rejected by themselves.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
};

/** One connection, for work that holds a lock or a transaction. */
export const connectToLeads = async (
  database: LeadsDatabase,
  { statementTimeoutMs }: { statementTimeoutMs: number },
): Promise<LeadsClient> => {
  const client = new Client(configOf(database, statementTimeoutMs));
  // The commands under way are rejected by themselves.
  client.on('error', () => undefined);
  await client.connect();
  return client;
};

const configOf = ({ url, schema }: LeadsDatabase, statementTimeoutMs: number): ClientConfig => ({
  ...clientConfig({ url, schema, connectTimeoutMs, statementTimeoutMs }),
  types: numbersForIntegers(),
});

const int8 = 20;

/** Counts and row numbers come as numbers; none is beyond 2^53. */
const numbersForIntegers = (): TypeOverrides => {
  const parsers = new TypeOverrides();
  parsers.setTypeParser(int8, Number);
  return parsers;
};
