import { silentLog } from '../../kit/log.ts';
import { createPool, type ConnectionOptions, type Pool } from '../../store/postgres/connection.ts';
import type { Lead, LeadFacets, LeadQuery } from '../lead-source.ts';
import { unpackLead } from '../pack-lead.ts';
import { queryConditions } from '../query/index-terms.ts';

export interface PostgresPlace {
  /** The address of PostgreSQL itself, not of a pooler. */
  url: string;
  schema?: string;
}

/** Returns the settings of connections to the imported profiles. Their tables are in the schema of the store. */
export const connectionTo = (
  { url, schema = 'public' }: PostgresPlace,
  { statementTimeoutMs }: Pick<ConnectionOptions, 'statementTimeoutMs'>,
): ConnectionOptions => ({ url, schema, statementTimeoutMs, connectTimeoutMs: 5_000, isPooled: false });

export type Connection = Pick<Pool, 'query'>;

/** The imported profiles that are searched: the row of `lead_set` (store/migrations/0001-schema/profiles.ts). */
export interface LeadSet {
  /** The table of the profiles. */
  name: string;
  /** Changes with every change. */
  generation: string;
  profiles: number;
  facets: LeadFacets;
  /** The version of Unicode that folded the words. */
  folding: string;
  /** The list of forgotten people that the profiles were compared with, and its revision then. */
  list: string;
  swept: number;
  /** Milliseconds since 1970. */
  updatedAt: number;
}

interface SetRow extends Pick<LeadSet, 'name' | 'generation' | 'folding' | 'list'> {
  profiles: bigint;
  facets: string;
  swept: bigint;
  updated_at: bigint;
}

/** Returns the current set; null if nothing was imported yet. `lock` keeps it from changing until the transaction ends. */
export const readSet = async (
  connection: Connection,
  lock: '' | 'for update' = '',
): Promise<LeadSet | null> => {
  const { rows } = await connection.query<SetRow>(`select * from lead_set ${lock}`);
  const [row] = rows;
  if (row === undefined) return null;
  const { updated_at: updatedAt, ...columns } = row;
  return {
    ...columns,
    profiles: Number(row.profiles),
    facets: JSON.parse(row.facets),
    swept: Number(row.swept),
    updatedAt: Number(updatedAt),
  };
};

/** Reads the current set of a store that may not be migrated yet, for a look from outside. */
export const readSetOnce = async (url: string): Promise<LeadSet | null> => {
  const pool = createPool(connectionTo({ url }, { statementTimeoutMs: 5_000 }), { size: 1, log: silentLog });
  try {
    const { rows } = await pool.query<{ exists: boolean }>(
      `select to_regclass('lead_set') is not null as exists`,
    );
    return rows[0]?.exists === true ? await readSet(pool) : null;
  } finally {
    await pool.end();
  }
};

/** Writes a term in the syntax of tsvector and tsquery. */
export const quoteTerm = (term: string): string => `'${term.replace(/['\\]/g, '$&$&')}'`;

const mostFollowers = Number.MAX_SAFE_INTEGER;

/** Finds profiles of the current set in the order of results. `name` is its table; null if there is no set. */
export const findLeads = async (
  connection: Connection,
  query: LeadQuery,
): Promise<{ name: string | null; leads: Lead[] }> => {
  const conditions = queryConditions(query);
  const { after, minFollowers = 0, maxFollowers = mostFollowers } = query;
  const words = conditions?.map(({ text, isPrefix }) => `${quoteTerm(text)}${isPrefix ? ':*' : ''}`) ?? [];
  const { rows } = await connection.query<{ name: string; profile: string | null }>({
    name: 'find leads',
    text: `select name, profile from lead_set
      left join lateral find_leads(cast($1 as text)::tsquery, $2, $3, $4, $5, $6) as profile on true`,
    values: [
      words.length === 0 ? null : words.join(' & '),
      minFollowers,
      Math.min(maxFollowers, after?.followers ?? mostFollowers),
      after?.followers ?? null,
      after?.username ?? null,
      conditions === null ? 0 : query.limit,
    ],
  });
  return {
    name: rows[0]?.name ?? null,
    leads: rows.flatMap(({ profile }) => (profile === null ? [] : [unpackLead(profile)])),
  };
};

const tables = `select oid, relname as name from pg_class
  where relnamespace = (select relnamespace from pg_class where oid = cast('lead_set' as regclass))
    and relname ~ '^leads_[0-9a-f]{16}(_staged)?$'`;

const lockNotAvailable = '55P03';

/** Removes the tables of former sets, and of imports that ended early. A table that is in use, as by a dump, stays. */
export const dropOthers = async (connection: Connection): Promise<void> => {
  const { rows } = await connection.query<{ name: string }>(
    `select name from (${tables}) as found where not exists (select from lead_set where lead_set.name = found.name)`,
  );
  for (const { name } of rows)
    try {
      await connection.query(`drop table if exists ${name}`);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === lockNotAvailable)) throw error;
    }
};

/** Returns the size of all sets on the disk, in bytes. */
export const bytesOfSets = async (connection: Connection): Promise<number> => {
  const { rows } = await connection.query<{ bytes: string }>(
    `select cast(sum(pg_total_relation_size(part.relid)) as text) as bytes
      from (${tables}) as found cross join lateral pg_partition_tree(found.oid) as part`,
  );
  return Number(rows[0]?.bytes ?? 0);
};

const rowsAtOnce = 20_000;

/** Yields the rows of a select in batches. Needs a transaction of `connection`. */
export async function* scan<Row extends object>(
  connection: Connection,
  select: string,
): AsyncGenerator<Row[]> {
  await connection.query(`declare leads_rows no scroll cursor for ${select}`);
  for (;;) {
    const { rows } = await connection.query<Row>(`fetch ${rowsAtOnce} from leads_rows`);
    yield rows;
    if (rows.length < rowsAtOnce) break;
  }
  await connection.query('close leads_rows');
}

/** Deletes the people for whom `isMeant` is true, in a transaction of `connection`. Returns how many they were. */
export const deleteWhere = async (
  connection: Connection,
  name: string,
  isMeant: (key: string) => boolean,
): Promise<number> => {
  let deleted = 0;
  for await (const rows of scan<{ key: string }>(connection, `select key from ${name}`)) {
    const keys = rows.flatMap(({ key }) => (isMeant(key) ? [key] : []));
    if (keys.length > 0) deleted += await deleteKeys(connection, name, keys);
  }
  return deleted;
};

/** Deletes people by their keys. Returns how many had a profile. */
export const deleteKeys = async (
  connection: Connection,
  name: string,
  keys: readonly string[],
): Promise<number> => {
  const { rowCount } = await connection.query(`delete from ${name} where key = any($1)`, [keys]);
  return rowCount ?? 0;
};

/** Runs `work` in a transaction of `connection`, which is rolled back if it throws. */
export const inTransaction = async <T>(connection: Connection, work: () => Promise<T>): Promise<T> => {
  await connection.query('begin');
  try {
    const result = await work();
    await connection.query('commit');
    return result;
  } catch (error) {
    // A lost connection is rolled back by the server.
    await connection.query('rollback').catch(() => undefined);
    throw error;
  }
};
