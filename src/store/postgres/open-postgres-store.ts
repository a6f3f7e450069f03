import { randomUUID } from 'node:crypto';
import { createJobSignal } from '../job-signal.ts';
import { shareRunning } from '../../kit/memoize.ts';
import { silentLog, type Log } from '../../kit/log.ts';
import { StoreError } from '../store-error.ts';
import { checkLedger } from '../check-ledger.ts';
import { commandMethods } from '../commands.ts';
import type { JobAnnouncement } from '../statement.ts';
import type { OnGroup, Store } from '../store.ts';
import { createCommandGate } from './command-gate.ts';
import { assertKeepsSessions, checkPooler, poolerProblem } from './check-pooler.ts';
import { clientConfig, createPool, type ConnectionOptions, type Pool } from './connection.ts';
import { listenForJobs } from './job-listener.ts';
import { migrateSchema } from './migrate-schema.ts';
import { answered, createEngine } from './engine.ts';

export interface PostgresStoreOptions {
  /** `postgres://` URL. */
  url: string;
  /** The address of the server itself, if `url` leads to a pooler in transaction mode. */
  directUrl?: string | undefined;
  /** The schema of the tables; created if missing. Lower-case letters, digits and underscores. */
  schema?: string;
  /** Maximum number of connections; listening for jobs needs one more. */
  poolSize?: number;
  /** Time limit for getting a connection. */
  connectTimeoutMs?: number;
  statementTimeoutMs?: number;
  /** Maximum number of waiting commands. One more is refused with StoreError `overloaded`. */
  maxWaiting?: number;
  log?: Log;
  onGroup?: OnGroup;
}

/** For migrations and the ledger check, which read whole tables. */
const longStatementTimeoutMs = 600_000;
const schemaPattern = /^[a-z_][a-z0-9_]{0,39}$/;

/**
 * Opens the distributed store. Any number of processes may use one schema. Through a pooler in transaction mode go the
 * commands; LISTEN, migrations and ledger checks use `directUrl`. Rejects with StoreError if the database cannot be
 * reached or migrated.
 */
export const openPostgresStore = async ({
  url,
  directUrl,
  schema = 'public',
  poolSize = 10,
  connectTimeoutMs = 5_000,
  statementTimeoutMs = 10_000,
  maxWaiting = 10_000,
  log = silentLog,
  onGroup,
}: PostgresStoreOptions): Promise<Store> => {
  if (!schemaPattern.test(schema)) throw new StoreError('failed', `"${schema}" is not a valid schema name`);
  const limits = { schema, connectTimeoutMs, statementTimeoutMs };
  const direct: ConnectionOptions = { ...limits, url: directUrl ?? url, isPooled: false };
  const isPooled = directUrl !== undefined;
  const pool = createPool(isPooled ? { ...limits, url, isPooled } : direct, { size: poolSize, log });
  await prepareDatabase({ direct, pooled: isPooled ? pool : null, log });
  const gate = createCommandGate({ maxWaiting });
  const announcement: JobAnnouncement = { channel: `causeway_jobs_${schema}`, sender: randomUUID() };
  const engine = createEngine(pool, { announcement, isPooled, maxWaiting, onGroup });
  const queued = createJobSignal();
  let listener: { stop(): Promise<void> } | null = null;

  const methods = commandMethods((_, { steps, queuesJobs }, input) =>
    gate.run(async () => {
      const output = await engine.run(steps(input, 'postgres'));
      if (queuesJobs?.(output, input) === true) queued.emit();
      return output;
    }),
  );
  const ping = (): Promise<void> =>
    gate.run(async () => {
      await answered(pool.query('select 1'));
    });
  return {
    ...methods,
    kind: 'postgres',
    checkLedger: shareRunning(() =>
      gate.run(() =>
        withPoolForLongWork(direct, log, (slowPool) =>
          createEngine(slowPool, { announcement, isPooled: false, maxWaiting }).runOnSnapshot(checkLedger()),
        ),
      ),
    ),
    onJobQueued: (onQueued) => {
      listener ??= listenForJobs({
        config: clientConfig(direct),
        announcement,
        log,
        onQueued: () => queued.emit(),
      });
      return queued.listen(onQueued);
    },
    ping,
    probe: ping,
    close: async () => {
      await Promise.all([gate.close(), listener?.stop()]);
      if (!pool.ending) await pool.end();
    },
  };
};

const withPoolForLongWork = async <T>(
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

interface Connections {
  direct: ConnectionOptions;
  /** Null without a pooler. */
  pooled: Pool | null;
  log: Log;
}

const prepareDatabase = async ({ direct, pooled, log }: Connections): Promise<void> => {
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
    const message = cause instanceof Error ? cause.message : String(cause);
    const problem = message.includes('unsupported startup parameter') ? poolerProblem : message;
    throw new StoreError('failed', `PostgreSQL could not be opened: ${problem}`, { cause });
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
