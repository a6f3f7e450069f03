import type { LeadsClient } from './leads-database.ts';
import { inTransaction } from './in-transaction.ts';
import { migrations } from './migrations.ts';

/**
 * Brings `schema` to the newest migrations, and makes it when missing. One process does it while others wait.
 * `client` has the schema in its search path.
 */
export const migrateLeads = async (client: LeadsClient, schema: string): Promise<void> => {
  if ((await missingMigrations(client, schema)).length === 0) return;
  const lock = [`${schema} migrations`];
  // Before the transaction: within it, tables made while it waited would not all be seen.
  await client.query('select pg_advisory_lock(hashtextextended($1, 0))', lock);
  try {
    await inTransaction(client, () => runMissing(client, schema));
  } finally {
    await client.query('select pg_advisory_unlock(hashtextextended($1, 0))', lock);
  }
};

const lockTimeoutMs = 500;

const runMissing = async (client: LeadsClient, schema: string): Promise<void> => {
  await checkEncoding(client);
  // Who waits for a lock on a table, as for a backup that reads it, has all searches in it wait: it is tried again later.
  await client.query(`set local lock_timeout = '${lockTimeoutMs}ms'`);
  const missing = await missingMigrations(client, schema);
  if (missing.length === 0) return;
  await createSchema(client, schema);
  await client.query('create table if not exists migrations (name text primary key)');
  for (const name of missing) {
    for (const statement of migrations[name] ?? []) await client.query(statement);
    await client.query('insert into migrations values ($1)', [name]);
  }
};

/** Asks for the right to make one only where there is none: also `if not exists` would ask for it. */
const createSchema = async (client: LeadsClient, schema: string): Promise<void> => {
  const { rows } = await client.query('select to_regnamespace($1) as found', [schema]);
  if (rows[0]?.found !== null) return;
  try {
    await client.query(`create schema ${schema}`);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === insufficientPrivilege)) throw cause;
    throw new Error(
      `There is no schema ${schema}, and this user may not make one. Give the user CREATE on the database, or make the schema ${schema} for it.`,
      { cause },
    );
  }
};

const insufficientPrivilege = '42501';

const missingMigrations = async (client: LeadsClient, schema: string): Promise<string[]> => {
  const { rows: tables } = await client.query('select to_regclass($1) as found', [`${schema}.migrations`]);
  const names = Object.keys(migrations);
  if (tables[0]?.found === null) return names;
  const { rows }: { rows: { name: string }[] } = await client.query('select name from migrations');
  const done = new Set(rows.map(({ name }) => name));
  return names.filter((name) => !done.has(name));
};

const checkEncoding = async (client: LeadsClient): Promise<void> => {
  const { rows } = await client.query('show server_encoding');
  if (rows[0]?.server_encoding !== 'UTF8')
    throw new Error(`The database has the encoding ${rows[0]?.server_encoding}; leads need one with UTF8.`);
};
