import { randomUUID } from 'node:crypto';
import { Client, DatabaseError, escapeIdentifier, type ClientConfig } from 'pg';
import { createJobSignal } from '../job-signal.ts';
import { shareRunning } from '../../kit/memoize.ts';
import { silentLog, type Log } from '../../kit/log.ts';
import { pause } from '../../kit/repeat.ts';
import { checkLedger } from '../check-ledger.ts';
import { commandMethods } from '../commands.ts';
import type { JobAnnouncement } from '../statement.ts';
import { StoreError, type StoreFailure } from '../store-error.ts';
import type { OnGroup, Store } from '../store.ts';
import { clientConfig, createPool, withPoolForLongWork, type ConnectionOptions } from './connection.ts';
import { answered, createEngine } from './engine.ts';
import { prepareDatabase } from './prepare-database.ts';

export interface PostgresStoreOptions {
  url: string;
  /** The address of the server itself, if `url` leads to a pooler in transaction mode. */
  directUrl?: string | undefined;
  /** The schema of the tables; created if missing. Lower-case letters, digits and underscores. */
  schema?: string;
  /** Maximum number of connections; listening for jobs needs one more. */
  poolSize?: number;
  connectTimeoutMs?: number;
  statementTimeoutMs?: number;
  /** Maximum number of waiting commands. One more is refused with StoreError `overloaded`. */
  maxWaiting?: number;
  log?: Log;
  onGroup?: OnGroup;
}

const clockText =
  'select cast(floor(extract(epoch from clock_timestamp()) * 1000) as double precision) as now';

/** Writes a row that is no account's lease. A read would also succeed on a standby, or where nothing can be written. */
const probeText = `insert into sender_turns (sender, owner, until) values ('', '', 0)
  on conflict (sender) do update set until = excluded.until`;

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
    ping: () =>
      gate.run(async () => {
        const askedAt = Date.now();
        const { rows } = await answered(pool.query<{ now: number }>(clockText));
        const now = rows[0]?.now ?? askedAt;
        // A clock that the wait for the answer explains is right.
        return Math.max(askedAt - now, Math.min(0, Date.now() - now));
      }),
    // One at a time: while nothing can be written, each would keep a connection.
    probe: shareRunning(() =>
      gate.run(async () => {
        await answered(pool.query(probeText));
      }),
    ),
    close: async () => {
      await Promise.all([gate.close(), listener?.stop()]);
      if (!pool.ending) await pool.end();
    },
  };
};

/** Limits the number of running commands, and lets `close` wait for them. */
const createCommandGate = ({ maxWaiting }: { maxWaiting: number }) => {
  const running = new Set<Promise<unknown>>();
  let isClosed = false;
  return {
    run: async <T>(work: () => Promise<T>): Promise<T> => {
      if (isClosed) throw new StoreError('closed', 'the store was closed');
      if (running.size >= maxWaiting)
        throw new StoreError(
          'overloaded',
          `${running.size} commands wait for PostgreSQL; this one was not tried`,
        );
      const command = work();
      running.add(command);
      try {
        return await command;
      } catch (cause) {
        if (cause instanceof StoreError) throw cause;
        const message = cause instanceof Error ? cause.message : String(cause);
        throw new StoreError(reasonOf(cause), message, { cause });
      } finally {
        running.delete(command);
      }
    },
    /** Refuses new commands and waits for the running ones. */
    close: async (): Promise<void> => {
      isClosed = true;
      await Promise.allSettled(running);
    },
  };
};

const diskFull = '53100';
/**
 * SQLSTATEs that mean that the server cannot work now: connections (08), deadlocks (40), resources (53), shutdown and
 * time-outs (57), the system (58), log-ins (28), a missing database (3D), a standby (25006), idle transactions and
 * locks.
 */
const outage = /^(?:08|28|3D|40|53|57|58)|^(?:25006|25P03|25P04|55P03)$/;

const reasonOf = (error: unknown): StoreFailure => {
  const state = error instanceof DatabaseError ? (error.code ?? '') : '';
  if (state === diskFull) return 'full';
  return outage.test(state) ? 'unavailable' : 'failed';
};

interface JobListenerOptions {
  config: ClientConfig;
  announcement: JobAnnouncement;
  log: Log;
  /** Called when another process announces a job, and when an announcement may have been missed. */
  onQueued: () => void;
}

const firstRetryMs = 250;
const lastRetryMs = 5_000;
/** A connection that a firewall dropped shows only when it is used. */
const probeEveryMs = 30_000;
const endWithinMs = 5_000;

/** Listens for queued jobs on one connection, and reconnects when it is lost. */
const listenForJobs = (options: JobListenerOptions): { stop(): Promise<void> } => {
  const stopping = new AbortController();
  const running = listenUntilStopped(options, stopping.signal);
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
};

const listenUntilStopped = async (options: JobListenerOptions, signal: AbortSignal): Promise<void> => {
  let retryMs = firstRetryMs;
  while (!signal.aborted) {
    const startedAt = performance.now();
    try {
      await listenOnce(options, signal);
    } catch (error) {
      if (!signal.aborted) options.log.warn({ err: error }, 'listening for queued jobs broke off');
    }
    retryMs = performance.now() - startedAt > lastRetryMs ? firstRetryMs : Math.min(retryMs * 2, lastRetryMs);
    await pause(retryMs, signal);
  }
};

/** Listens on one connection until it ends or `signal` aborts. */
const listenOnce = async (
  { config, announcement, onQueued }: JobListenerOptions,
  signal: AbortSignal,
): Promise<void> => {
  const client = new Client(config);
  const ended = new AbortController();
  const endWith = (reason?: unknown): void => ended.abort(reason);
  client.on('error', endWith);
  client.on('end', () => endWith(new Error('the server closed the connection')));
  client.on('notification', ({ payload }) => {
    if (payload !== announcement.sender) onQueued();
  });
  const either = AbortSignal.any([signal, ended.signal]);
  try {
    await client.connect();
    await client.query(`listen ${escapeIdentifier(announcement.channel)}`);
    onQueued();
    while (!either.aborted) {
      await pause(probeEveryMs, either);
      if (!either.aborted) await client.query('select 1');
    }
    if (!signal.aborted) throw ended.signal.reason;
  } finally {
    await Promise.race([client.end(), pause(endWithinMs)]);
  }
};
