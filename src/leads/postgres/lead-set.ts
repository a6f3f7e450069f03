import { DatabaseError } from 'pg';
import { instead } from '../../kit/errors.ts';
import { silentLog } from '../../kit/log.ts';
import { createPool, type ConnectionOptions, type Pool } from '../../store/postgres/connection.ts';
import type { Lead, LeadQuery } from '../lead-source.ts';
import { unpackLead } from '../lead-fields.ts';
import type { ProfileSet } from '../lead-index.ts';
import { queryConditions } from '../query/index-terms.ts';
import type { QueryTerm } from '../query/search-terms.ts';

export interface PostgresAddress {
  /** The address of PostgreSQL itself, not of a pooler. */
  url: string;
  schema?: string;
}

/** Returns the settings of connections to the imported profiles. Their tables are in the schema of the store. */
export const connectionTo = (
  { url, schema = 'public' }: PostgresAddress,
  { statementTimeoutMs }: Pick<ConnectionOptions, 'statementTimeoutMs'>,
): ConnectionOptions => ({ url, schema, statementTimeoutMs, connectTimeoutMs: 5_000, isPooled: false });

export type Connection = Pick<Pool, 'query'>;

/** The imported profiles that are searched: the row of `lead_set` (store/migrations/0001-schema/profiles.ts). */
export interface LeadSet extends ProfileSet {
  /** The table of the profiles. */
  name: string;
}

/** Returns the current set; null if nothing was imported yet. `lock` keeps it from changing until the transaction ends. */
export const readSet = async (
  connection: Connection,
  lock: '' | 'for update' = '',
): Promise<LeadSet | null> => {
  const { rows } = await connection.query<{ current: LeadSet }>(
    `select json_build_object('name', name, 'generation', generation, 'profiles', profiles, 'facets', cast(facets as json),
      'folding', folding, 'list', list, 'swept', swept, 'updatedAt', updated_at) as current from lead_set ${lock}`,
  );
  return rows[0]?.current ?? null;
};

/** Reads the current set of a store that may not be migrated yet, for a look from outside. */
export const readSetOnce = async (url: string): Promise<LeadSet | null> => {
  const pool = createPool(connectionTo({ url }, { statementTimeoutMs: 5_000 }), { size: 1, log: silentLog });
  try {
    return await readSet(pool).catch(instead(null, isMissingTable));
  } finally {
    await pool.end();
  }
};

const isMissingTable = (error: unknown): boolean => error instanceof DatabaseError && error.code === '42P01';

/** Does `work` on the current set. A set is dropped as soon as another one is current: then the work begins anew. */
export const onCurrentSet = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (!isMissingTable(error)) throw error;
    return work();
  }
};

/** Writes a term in the syntax of tsvector and tsquery. */
export const quoteTerm = (term: string): string => `'${term.replace(/['\\]/g, '$&$&')}'`;

const toTsquery = (conditions: readonly QueryTerm[]): string | null =>
  conditions.length === 0
    ? null
    : conditions.map(({ text, isPrefix }) => `${quoteTerm(text)}${isPrefix ? ':*' : ''}`).join(' & ');

/** Of more conditions than this, some are looked up before the others. */
const mostAtOnce = 6;
const fewTerms = 4;

/** Long terms are the rarest, as a rule. */
const longestOf = (conditions: readonly QueryTerm[]): QueryTerm[] =>
  conditions.toSorted((one, other) => other.text.length - one.text.length);

const mostFollowers = Number.MAX_SAFE_INTEGER;

/** Finds profiles of the current set in the order of results. */
export const findLeads = async (connection: Connection, query: LeadQuery): Promise<Lead[]> => {
  const conditions = queryConditions(query);
  if (conditions === null) return [];
  const { after, minFollowers = 0, maxFollowers = mostFollowers, limit } = query;
  const few = conditions.length <= mostAtOnce ? [] : longestOf(conditions).slice(0, fewTerms);
  const { rows } = await connection.query<{ profile: string }>({
    name: 'find leads',
    text: `select profile from find_leads(cast($1 as text)::tsquery, cast($2 as text)::tsquery, $3, $4, $5, $6, $7)
      as profile`,
    values: [
      toTsquery(conditions),
      toTsquery(few),
      minFollowers,
      Math.min(maxFollowers, after?.followers ?? mostFollowers),
      after?.followers ?? null,
      after?.username ?? null,
      limit,
    ],
  });
  return rows.map(({ profile }) => unpackLead(profile));
};

/** Selects the tables of sets whose names end so. */
const tables = (end: string): string => `select oid, relname as name from pg_class
  where relnamespace = (select relnamespace from pg_class where oid = cast('lead_set' as regclass))
    and relkind in ('r', 'p') and relname ~ '^leads_[0-9a-f]{16}${end}$'`;

const lockNotAvailable = '55P03';

/** Removes the tables of former sets, and of imports that ended early. A table in use, as by a dump or an export, stays. */
export const dropOthers = async (connection: Connection): Promise<void> => {
  const { rows } = await connection.query<{ name: string }>(
    `select name from (${tables('(_staged)?')}) as found where not exists (select from lead_set where lead_set.name = found.name)`,
  );
  for (const { name } of rows)
    try {
      await connection.query(`set local lock_timeout = '3s'; drop table if exists ${name}`);
    } catch (error) {
      if (!(error instanceof DatabaseError && error.code === lockNotAvailable)) throw error;
    }
};

/** Returns the size of all sets on the disk, in bytes. */
export const bytesOfSets = async (connection: Connection): Promise<number> => {
  const { rows } = await connection.query<{ bytes: string }>(
    `select cast(sum(pg_total_relation_size(oid)) as text) as bytes from (${tables('.*')}) as found`,
  );
  return Number(rows[0]?.bytes ?? 0);
};

const rowsAtOnce = 4_000;

/** Yields the rows of a cursor in batches. */
export async function* fetchAll<Row extends object>(
  connection: Connection,
  cursor: string,
): AsyncGenerator<Row[]> {
  for (;;) {
    const { rows } = await connection.query<Row>(`fetch ${rowsAtOnce} from ${cursor}`);
    yield rows;
    if (rows.length < rowsAtOnce) break;
  }
  await connection.query(`close ${cursor}`);
}

/** Deletes the people for whom `isMeant` is true, in a transaction of `connection`. Returns how many they were. */
export const deleteWhere = async (
  connection: Connection,
  name: string,
  isMeant: (key: string) => boolean,
): Promise<number> => {
  let deleted = 0;
  await connection.query(`declare everybody cursor for select key from ${name}`);
  for await (const rows of fetchAll<{ key: string }>(connection, 'everybody')) {
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
