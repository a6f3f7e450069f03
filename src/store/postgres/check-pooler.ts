import { escapeIdentifier } from 'pg';
import type { Log } from '../../kit/log.ts';
import type { Pool } from './connection.ts';

/** Throws if the connections of a pool, which has room for two, do not keep what a session has, such as LISTEN. */
export const assertKeepsSessions = async (pool: Pool): Promise<void> => {
  const pidOn = async (connection: Pick<Pool, 'query'>): Promise<number | undefined> =>
    (await connection.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;
  const first = await pool.connect();
  try {
    const pid = await pidOn(first);
    // The pool takes another connection while the first is in use.
    if ((await pidOn(pool)) === pid) throw new Error(poolerProblem);
  } finally {
    first.release();
  }
};

export const poolerProblem =
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

/**
 * Compares the connections of a pooler with direct ones. Throws if they lead to another database or schema. Warns if
 * PostgreSQL does not limit the time of their statements.
 */
export const checkPooler = async (
  { pooled, direct }: { pooled: Pool; direct: Pool },
  { schema, log }: { schema: string; log: Log },
): Promise<void> => {
  const [seen, expected] = [await look(pooled), await look(direct)];
  if (seen.server !== expected.server)
    throw new Error('DATABASE_URL and DATABASE_DIRECT_URL lead to different databases');
  const change = `alter role ${escapeIdentifier(seen.role)} in database ${escapeIdentifier(seen.database)} set`;
  const afterwards = 'and make the pooler connect anew (PgBouncer: "reconnect")';
  if (seen.schema !== schema)
    throw new Error(
      `through the pooler, tables are looked for in the schema ${seen.schema}; run: ${change} search_path = ${schema}, ${afterwards}`,
    );
  if (seen.limits !== null)
    log.warn(
      `through the pooler, PostgreSQL never ends a statement or transaction that hangs; run: ` +
        `${seen.limits.map((name) => `${change} ${name} = '10s';`).join(' ')} ${afterwards}`,
    );
};
