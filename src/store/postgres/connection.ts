import { Pool as PgPool, TypeOverrides, type ClientConfig } from 'pg';
import type { Log } from '../../kit/log.ts';

export type Pool = InstanceType<typeof PgPool>;

export interface ConnectionOptions {
  url: string;
  schema: string;
  /** Time limit for getting a connection, also from the pool. */
  connectTimeoutMs: number;
  /** The server ends a statement that takes longer. */
  statementTimeoutMs: number;
  /**
   * True if a pooler gives each transaction any connection of the server. Then nothing can be set for the connection:
   * the settings of the role say where the tables are and how long a statement may take.
   */
  isPooled: boolean;
}

const int8 = 20;
/** The server ends a slow statement first. Our own time limit is for a server that does not answer at all. */
const answerGraceMs = 5_000;

/** Reads integers as bigint, as with SQLite. */
const typeParsers = (): TypeOverrides => {
  const parsers = new TypeOverrides();
  parsers.setTypeParser(int8, (text) => BigInt(text));
  return parsers;
};

/** Sets the schema in the URL, which takes precedence over other settings. Keeps the URL's own options. */
const withSearchPath = (url: string, schema: string): string => {
  const address = new URL(url);
  const given = address.searchParams.get('options') ?? '';
  address.searchParams.set('options', `${given} -c search_path=${schema}`.trim());
  return address.href;
};

export const clientConfig = ({
  url,
  schema,
  connectTimeoutMs,
  statementTimeoutMs,
  isPooled,
}: ConnectionOptions): ClientConfig => ({
  application_name: 'causeway',
  connectionTimeoutMillis: connectTimeoutMs,
  query_timeout: statementTimeoutMs + answerGraceMs,
  keepAlive: true,
  types: typeParsers(),
  ...(isPooled
    ? { connectionString: url }
    : {
        connectionString: withSearchPath(url, schema),
        statement_timeout: statementTimeoutMs,
        idle_in_transaction_session_timeout: statementTimeoutMs,
      }),
});

export const createPool = (
  connection: ConnectionOptions,
  { size, log }: { size: number; log: Log },
): Pool => {
  const pool = new PgPool({ ...clientConfig(connection), max: size });
  // The pool replaces an idle connection that broke. Without a listener the event would end the process.
  pool.on('error', (error) => log.warn({ err: error }, 'a connection to PostgreSQL broke'));
  // The pool does not listen to a connection in use. Its commands are rejected anyway.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
};

/** For migrations and the ledger check, which read whole tables. */
const longStatementTimeoutMs = 600_000;

export const withPoolForLongWork = async <T>(
  connection: ConnectionOptions,
  log: Log,
  work: (pool: Pool) => Promise<T>,
): Promise<T> => {
  const pool = createPool({ ...connection, statementTimeoutMs: longStatementTimeoutMs }, { size: 2, log });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
};
