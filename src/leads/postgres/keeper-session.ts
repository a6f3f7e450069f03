import { LeadKeeperError } from '../lead-keeper.ts';
import { connectToLeads, type LeadsClient, type LeadsDatabase } from './leads-database.ts';
import { migrateLeads } from './migrate-leads.ts';

/** Indexing some millions of profiles makes single statements of minutes. */
const statementTimeoutMs = 3_600_000;

/** A connection to migrated tables. Rejects with LeadKeeperError. */
export const openKeeperClient = async (database: LeadsDatabase): Promise<LeadsClient> =>
  inDatabase(async () => {
    const client = await connectToLeads(database, { statementTimeoutMs });
    try {
      await migrateLeads(client, database.schema);
      return client;
    } catch (error) {
      await closeClient(client);
      throw error;
    }
  });

/** It may be broken already; the server ends what is under way on it. */
export const closeClient = async (client: LeadsClient): Promise<void> => {
  await client.end().catch(() => undefined);
};

/** Runs `work` on a connection of its own, to migrated tables. */
export const withKeeperClient = async <T>(
  database: LeadsDatabase,
  work: (client: LeadsClient) => Promise<T>,
): Promise<T> => {
  const client = await openKeeperClient(database);
  try {
    return await work(client);
  } finally {
    await closeClient(client);
  }
};

/**
 * Runs `work` while no other process changes the profiles. The lock belongs to the connection, so the server gives it
 * back however the process ends. Rejects with LeadKeeperError `busy` when another one has it.
 */
export const withKeeperLock = async <T>(
  database: LeadsDatabase,
  work: (client: LeadsClient) => Promise<T>,
): Promise<T> =>
  withKeeperClient(database, async (client) => {
    const { rows } = await inDatabase(() =>
      client.query('select pg_try_advisory_lock(hashtextextended($1, 0)) as is_taken', [
        `${database.schema} keeper`,
      ]),
    );
    if (rows[0]?.is_taken !== true)
      throw new LeadKeeperError(
        'busy',
        'Another import or change of the profiles in PostgreSQL is under way. Wait until it is over.',
      );
    return work(client);
  });

/** Turns what PostgreSQL refuses, and a lost connection, into LeadKeeperError. */
export const inDatabase = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof LeadKeeperError) throw cause;
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new LeadKeeperError('failed', `PostgreSQL did not do it: ${message}`, { cause });
  }
};

/**
 * Ends what the server does for `clients` when `signal` aborts. Resolves to what stops listening. The statements that
 * are ended reject.
 */
export const cancelOnAbort = async (
  database: LeadsDatabase,
  { clients, signal }: { clients: readonly LeadsClient[]; signal: AbortSignal },
): Promise<() => void> => {
  const pids: number[] = [];
  for (const client of clients) {
    const { rows } = await client.query('select pg_backend_pid() as pid');
    pids.push(Number(rows[0]?.pid));
  }
  const cancel = async (): Promise<void> => {
    const canceller = await connectToLeads(database, { statementTimeoutMs: 5_000 });
    try {
      await canceller.query('select pg_cancel_backend(pid) from unnest($1::integer[]) as pid', [pids]);
    } finally {
      await canceller.end();
    }
  };
  // Where even that fails, the work ends at its next look at the signal.
  const onAbort = (): void => void cancel().catch(() => undefined);
  signal.addEventListener('abort', onAbort, { once: true });
  // It may have come while the connections were asked.
  if (signal.aborted) onAbort();
  return () => signal.removeEventListener('abort', onAbort);
};
