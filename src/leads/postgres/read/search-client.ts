import type { PoolClient } from 'pg';
import type { Pool } from '../../../store/postgres/connection.ts';
import { connectToLeads, type LeadsDatabase } from '../leads-database.ts';

export interface WithSearchClientInput {
  pool: Pool;
  database: LeadsDatabase;
  signal: AbortSignal;
}

/** Statements take a few milliseconds: one that goes on for so long after the abort is cancelled. */
const cancelAfterMs = 50;
const cancelTimeoutMs = 5_000;

/**
 * Runs `work`, which looks at `signal` between two statements, on a connection of its own. When the signal aborts, the
 * server is told to end the statement under way, which then rejects.
 */
export const withSearchClient = async <T>(
  { pool, database, signal }: WithSearchClientInput,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> => {
  signal.throwIfAborted();
  const client = await pool.connect();
  let isSound = false;
  let cancelling: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  const onAbort = (): void => {
    timer = setTimeout(() => {
      // Where even that fails, the time-out of the statement ends it.
      cancelling = cancelStatement(database, client).catch(() => undefined);
    }, cancelAfterMs);
  };
  try {
    if (!processIds.has(client)) processIds.set(client, await readProcessId(client));
    signal.addEventListener('abort', onAbort, { once: true });
    const result = await work(client);
    isSound = true;
    return result;
  } catch (error) {
    isSound = signal.aborted && error === signal.reason;
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    // A cancellation that comes late must not meet the next search: that one gets another connection.
    await cancelling;
    client.release(!isSound || cancelling !== undefined);
  }
};

/** The server processes of connections. */
const processIds = new WeakMap<PoolClient, number>();

const readProcessId = async (client: PoolClient): Promise<number> => {
  const { rows } = await client.query('select pg_backend_pid() as pid');
  return Number(rows[0]?.pid);
};

const cancelStatement = async (database: LeadsDatabase, client: PoolClient): Promise<void> => {
  const canceller = await connectToLeads(database, { statementTimeoutMs: cancelTimeoutMs });
  try {
    await canceller.query('select pg_cancel_backend($1)', [processIds.get(client)]);
  } finally {
    await canceller.end();
  }
};
