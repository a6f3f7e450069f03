import { randomUUID } from 'node:crypto';
import { Client, DatabaseError } from 'pg';
import { silentLog } from '../../kit/log.ts';
import { clientConfig, createPool, type Pool } from '../../store/postgres/connection.ts';
import type { ForgottenPeople } from '../forgotten-people.ts';
import {
  busyError,
  changeFailed,
  checkList,
  createLeadIndex,
  LeadIndexError,
  type AddedPeople,
  type ImportOutcome,
  type ImportRequest,
  type LeadIndex,
} from '../lead-index.ts';
import type { Lead } from '../lead-source.ts';
import { unpackLead } from '../lead-fields.ts';
import { importSet, profilesInPart } from './import-set.ts';
import {
  bytesOfSets,
  connectionTo,
  deleteKeys,
  deleteWhere,
  dropOthers,
  fetchAll,
  inTransaction,
  onCurrentSet,
  readSet,
  type Connection,
  type PostgresAddress,
} from './lead-set.ts';

export interface PostgresIndexOptions extends PostgresAddress {
  people: ForgottenPeople;
  /** About how many profiles are in a part of a set. */
  partSize?: number;
}

/** For changes and exports. Only imports have statements that take longer. */
const statementTimeoutMs = 60_000;
/** People who are deleted by one statement. */
const keysAtOnce = 10_000;

/** Changes the profiles in PostgreSQL. The store, which has the list of forgotten people, must be open. */
export const openPostgresIndex = (options: PostgresIndexOptions): LeadIndex => {
  const { people } = options;
  const pool = createPool(connectionTo(options, { statementTimeoutMs }), { size: 2, log: silentLog });
  return createLeadIndex(people, {
    importLeads: (request) => importLeads(options, pool, request),
    stats: async () => {
      const set = await readSet(pool);
      return {
        profiles: set?.profiles ?? 0,
        synthetic: false,
        bytes: await bytesOfSets(pool),
        generation: set?.generation ?? null,
        updatedAt: set?.updatedAt ?? null,
      };
    },
    readAll: (signal) => readAll(pool, signal),
    erase: (added) => erase(pool, added),
    sweep: () => sweep(pool, people),
    toError: toIndexError,
    close: () => pool.end(),
  });
};

const diskFull = '53100';

const toIndexError = (cause: unknown, describe = changeFailed): LeadIndexError => {
  if (cause instanceof LeadIndexError) return cause;
  const isFull = cause instanceof DatabaseError && cause.code === diskFull;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new LeadIndexError(
    'failed',
    describe(isFull ? `the disk of PostgreSQL is full: ${reason}` : reason),
    { cause },
  );
};

/** The lock of an import belongs to its connection, and ends with it. */
const importLeads = async (
  { people, partSize = profilesInPart, ...address }: PostgresIndexOptions,
  pool: Pool,
  request: ImportRequest,
): Promise<ImportOutcome> => {
  const { signal } = request;
  const config = clientConfig(connectionTo(address, { statementTimeoutMs }));
  const client = new Client({ ...config, query_timeout: 0 });
  // A lost connection fails the statement that runs.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(sessionText);
    const { rows } = await client.query<{ pid: number; locked: boolean }>(lockText);
    if (rows[0]?.locked !== true) throw busyError();
    const { pid } = rows[0];
    let cancelled: Promise<unknown> = Promise.resolve();
    const cancel = (): void => {
      cancelled = pool.query('select pg_cancel_backend($1)', [pid]).catch(() => undefined);
    };
    signal.addEventListener('abort', cancel, { once: true });
    try {
      await dropOthers(client);
      return await importSet(client, { request, former: await readSet(client), people, partSize });
    } finally {
      signal.removeEventListener('abort', cancel);
      await cancelled;
      // Tables that stay, as after a lost connection, are removed by the next import.
      await dropOthers(client).catch(() => undefined);
    }
  } finally {
    await client.end();
  }
};

/** The server ends the import, and so its lock, soon after this process has ended. Not every system can look for that. */
const sessionText = `set statement_timeout = 0; set idle_in_transaction_session_timeout = 0;
  select set_config('client_connection_check_interval', '1s', false) where version() like '%linux%'`;

const lockText = `select pg_backend_pid() as pid,
  pg_try_advisory_lock(cast(cast(cast('lead_set' as regclass) as oid) as bigint)) as locked`;

/**
 * Deletes people from the current set. An import that is under way compares the list at its end.
 */
const erase = (pool: Pool, { keys, revision, before }: AddedPeople): Promise<number> =>
  change(pool, async (client) => {
    const set = await readSet(client, 'for update');
    if (set === null) return 0;
    let removed = 0;
    for (let at = 0; at < keys.length; at += keysAtOnce)
      removed += await deleteKeys(client, set.name, keys.slice(at, at + keysAtOnce));
    const swept = set.swept === before ? revision : set.swept;
    await noteDeletion(client, { name: set.name, removed, swept });
    return removed;
  });

/** Deletes the people who are on the list and still stored, as after a deletion that ended early. */
const sweep = async (pool: Pool, people: ForgottenPeople): Promise<void> => {
  const { ids, revision, includes } = await people.read();
  const set = await readSet(pool);
  if (set === null) return;
  checkList(set, { ids });
  if (set.swept === revision) return;
  await change(pool, async (client) => {
    const removed = await deleteWhere(client, set.name, includes);
    await noteDeletion(client, { name: set.name, removed, swept: revision });
  });
};

/** Changes nothing if an import has replaced the set `name`. */
const noteDeletion = (
  connection: Connection,
  { name, removed, swept }: { name: string; removed: number; swept: number },
): Promise<unknown> =>
  connection.query(
    `update lead_set set profiles = profiles - $2, swept = $3, generation = $4, updated_at = $5
      where name = $1`,
    [name, removed, swept, randomUUID(), Date.now()],
  );

/** Does `work` in a transaction of its own connection. */
const change = async <T>(pool: Pool, work: (connection: Connection) => Promise<T>): Promise<T> => {
  const client = await pool.connect();
  try {
    return await inTransaction(client, () => work(client));
  } finally {
    client.release();
  }
};

/** A table that is read stays, as it is when the reading begins, also after another import has replaced it. */
async function* readAll(pool: Pool, signal: AbortSignal): AsyncGenerator<Lead> {
  const client = await pool.connect();
  try {
    const isAny = await onCurrentSet(async () => {
      // The reader of an export may pause for long.
      await client.query('rollback; begin read only; set local idle_in_transaction_session_timeout = 0');
      const set = await readSet(client);
      if (set !== null)
        await client.query(
          `declare profiles cursor for select profile from ${set.name} order by -followers, username`,
        );
      return set !== null;
    });
    if (!isAny) return;
    for await (const rows of fetchAll<{ profile: string }>(client, 'profiles')) {
      signal.throwIfAborted();
      yield* rows.map(({ profile }) => unpackLead(profile));
    }
  } finally {
    await client.query('rollback').catch(() => undefined);
    client.release();
  }
}
