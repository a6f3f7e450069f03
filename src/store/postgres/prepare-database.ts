import { escapeIdentifier, type PoolClient } from 'pg';
import type { Log } from '../../kit/log.ts';
import { postgresEngine } from '../migrations/engine.ts';
import { missingStatements } from '../migrations/migrations.ts';
import { StoreError } from '../store-error.ts';
import { withPoolForLongWork, type ConnectionOptions, type Pool } from './connection.ts';

interface Connections {
  direct: ConnectionOptions;
  pooled: Pool | null;
  log: Log;
}

/** SQLSTATEs and codes of the system that may end by themselves. */
const outageCode = /^(?:08|25006|40|53|55P03|57|58|E(?!RR_))/;
/** Of failures that the client tells without a code. */
const outageText = /timeout|terminated/i;

/**
 * Migrates the database, and checks its settings and its pooler. Rejects with StoreError: `unavailable` if the same may
 * work later, else `failed`.
 */
export const prepareDatabase = async ({ direct, pooled, log }: Connections): Promise<void> => {
  const { schema } = direct;
  try {
    await withPoolForLongWork(direct, log, async (pool) => {
      await assertKeepsSessions(pool);
      await migrateSchema(pool, schema);
      await warnWhenCommitsCanBeLost(pool, log);
      if (pooled !== null) await checkPooler({ pooled, direct: pool }, { schema, log });
    });
  } catch (cause) {
    await pooled?.end();
    const [fault]: unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
    const message = fault instanceof Error ? fault.message : String(fault);
    const isPooler = message.includes('unsupported startup parameter');
    const code = fault instanceof Error && 'code' in fault ? String(fault.code) : '';
    const isOutage = outageCode.test(code) || (code === '' && outageText.test(message));
    throw new StoreError(
      isOutage && !isPooler && !(fault instanceof StoreError) ? 'unavailable' : 'failed',
      `PostgreSQL could not be opened: ${isPooler ? poolerProblem : message}`,
      { cause },
    );
  }
};

/** Warns about server settings with which an acknowledged write may not be on disk. */
const warnWhenCommitsCanBeLost = async (pool: Pool, log: Log): Promise<void> => {
  const { rows }: { rows: { name: string }[] } = await pool.query(
    `select name from pg_settings where name in ('fsync', 'synchronous_commit') and setting = 'off'`,
  );
  for (const { name } of rows)
    log.warn(
      `PostgreSQL runs with ${name} = off: a crash of the server can lose money that was acknowledged`,
    );
};

const migrationLock = '3853314791062309107';

/** Creates `schema` if it is missing. An advisory lock lets one process migrate while others wait. */
const migrateSchema = async (pool: Pool, schema: string): Promise<void> => {
  const client = await pool.connect();
  try {
    if ((await missingIn(client, schema)).length === 0) return;
    await client.query('begin');
    await client.query(`select pg_advisory_xact_lock(${migrationLock})`);
    const { rows } = await client.query('select 1 from pg_namespace where nspname = $1', [schema]);
    if (rows.length === 0) await client.query(`create schema ${schema}`);
    for (const statement of await missingIn(client, schema)) await client.query(statement);
    await client.query('commit');
  } finally {
    // Ends the connection, and so rolls back a migration that failed.
    client.release(true);
  }
};

const missingIn = async (client: PoolClient, schema: string): Promise<string[]> => {
  const { rows: tables } = await client.query(
    `select 1 from information_schema.tables where table_schema = $1 and table_name = 'kysely_migration'`,
    [schema],
  );
  const { rows }: { rows: { name: string }[] } =
    tables.length === 0 ? { rows: [] } : await client.query('select name from kysely_migration');
  return missingStatements(
    rows.map(({ name }) => name),
    postgresEngine,
  );
};

/** Throws if the connections of a pool, which has room for two, do not keep what a session has, such as LISTEN. */
const assertKeepsSessions = async (pool: Pool): Promise<void> => {
  const pidOn = async (connection: Pick<Pool, 'query'>): Promise<number | undefined> =>
    (await connection.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;
  const first = await pool.connect();
  try {
    const pid = await pidOn(first);
    // The pool takes another connection while the first is in use.
    if ((await pidOn(pool)) === pid) throw new StoreError('failed', poolerProblem);
  } finally {
    first.release();
  }
};

const poolerProblem =
  'the address leads to a pooler; set DATABASE_DIRECT_URL to the address of PostgreSQL itself, beside DATABASE_URL';

interface Seen {
  database: string;
  role: string;
  schema: string | null;
  server: string;
  limits: string[] | null;
}

const look = async (pool: Pool): Promise<Seen> => {
  const { rows } = await pool.query<Seen>(
    `select current_database() as database, current_user as role, current_schema() as schema,
      current_database() || ' ' || extract(epoch from pg_postmaster_start_time()) as server,
      (select array_agg(name::text order by name) from pg_settings
        where name in ('statement_timeout', 'idle_in_transaction_session_timeout') and setting = '0') as limits`,
  );
  const [seen] = rows;
  if (seen === undefined) throw new Error('PostgreSQL returned no row');
  return seen;
};

/** Throws if the pooler leads to another database or schema. Warns if statements there have no limit of time. */
const checkPooler = async (
  { pooled, direct }: { pooled: Pool; direct: Pool },
  { schema, log }: { schema: string; log: Log },
): Promise<void> => {
  const [seen, expected] = [await look(pooled), await look(direct)];
  if (seen.server !== expected.server)
    throw new StoreError('failed', 'DATABASE_URL and DATABASE_DIRECT_URL lead to different databases');
  const change = `alter role ${escapeIdentifier(seen.role)} in database ${escapeIdentifier(seen.database)} set`;
  const afterwards = 'and make the pooler connect anew (PgBouncer: "reconnect")';
  if (seen.schema !== schema)
    throw new StoreError(
      'failed',
      `through the pooler, tables are looked for in the schema ${seen.schema}; run: ${change} search_path = ${schema}, ${afterwards}`,
    );
  if (seen.limits !== null)
    log.warn(
      `through the pooler, PostgreSQL never ends a statement or transaction that hangs; run: ` +
        `${seen.limits.map((name) => `${change} ${name} = '10s';`).join(' ')} ${afterwards}`,
    );
};
