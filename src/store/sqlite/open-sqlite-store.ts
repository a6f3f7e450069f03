import { commandMethods } from '../commands.ts';
import type { LedgerReport } from '../check-ledger.ts';
import { createJobSignal } from '../job-signal.ts';
import type { Store } from '../store.ts';
import { linkOnDemand } from './link-on-demand.ts';
import { openWorkerLink, type WorkerLink, type WorkerLinkOptions } from './worker-link.ts';

export interface SqliteStoreOptions {
  /** Path of the database file. A missing file is created, a missing folder is not. */
  file: string;
  /** A write fails if another process's write to the same file takes longer. */
  busyTimeoutMs?: number;
  /** Maximum number of waiting commands. One more is refused with StoreError `overloaded`. */
  maxWaiting?: number;
  /** A command without an answer in this time is rejected with StoreError `timeout`. */
  commandTimeoutMs?: number;
}

/** A ledger check reads the whole ledger. */
const ledgerCheckTimeoutMs = 600_000;

/**
 * Opens the embedded store: one file, a writing thread, a reading thread, and one for sums, which starts on demand.
 * Rejects with StoreError if the file cannot be opened.
 */
export const openSqliteStore = async ({
  file,
  busyTimeoutMs = 5_000,
  maxWaiting = 10_000,
  commandTimeoutMs = 30_000,
}: SqliteStoreOptions): Promise<Store> => {
  const settings: Omit<WorkerLinkOptions, 'role'> = { file, busyTimeoutMs, maxWaiting, commandTimeoutMs };
  const [writer, reader] = await openBoth(settings);
  // Sums over a long history take long. Their own thread keeps them from delaying other reads.
  const summer = linkOnDemand(() => openWorkerLink({ ...settings, role: 'reader' }));
  const queued = createJobSignal();

  const methods = commandMethods(async (name, { kind, isLong, queuesJobs }, input) => {
    const reading = isLong === true ? summer : reader;
    const output = await (kind === 'write' ? writer : reading).call(name, input);
    if (queuesJobs?.(output) === true) queued.emit();
    return output;
  });
  return {
    ...methods,
    kind: 'sqlite',
    checkLedger: async () => {
      const checker = await openWorkerLink({
        ...settings,
        role: 'reader',
        commandTimeoutMs: ledgerCheckTimeoutMs,
      });
      try {
        // The reader answers with the ledger's report.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        return (await checker.call('checkLedger', undefined)) as LedgerReport;
      } finally {
        await checker.close();
      }
    },
    onJobQueued: (listener) => queued.listen(listener),
    ping: async () => {
      await Promise.all([writer.call('ping', undefined), reader.call('ping', undefined)]);
    },
    probe: async () => {
      await Promise.all([writer.call('probe', undefined), reader.call('ping', undefined)]);
    },
    close: async () => {
      await Promise.all([reader.close(), writer.close(), summer.close()]);
    },
  };
};

/** Opens both workers; the faster one creates the schema. If one fails, closes the other. */
const openBoth = async (
  settings: Omit<WorkerLinkOptions, 'role'>,
): Promise<[writer: WorkerLink, reader: WorkerLink]> => {
  const opening = [
    openWorkerLink({ ...settings, role: 'writer' }),
    openWorkerLink({ ...settings, role: 'reader' }),
  ] as const;
  try {
    return await Promise.all(opening);
  } catch (error) {
    for (const settled of await Promise.allSettled(opening))
      if (settled.status === 'fulfilled') await settled.value.close();
    throw error;
  }
};
