import { shareRunning } from '../../kit/memoize.ts';
import { commandMethods } from '../commands.ts';
import type { LedgerReport } from '../check-ledger.ts';
import { createJobSignal } from '../job-signal.ts';
import type { OnGroup, Store } from '../store.ts';
import { linkOnDemand, openLocalLink, openWorkerLink, type StoreLink } from './worker-link.ts';

export interface SqliteStoreOptions {
  /** Path of the database file. A missing file is created, a missing folder is not. */
  file: string;
  /** A write fails if another process's write to the same file takes longer. */
  busyTimeoutMs?: number;
  /** Maximum number of waiting commands. One more is refused with StoreError `overloaded`. */
  maxWaiting?: number;
  /** A command without an answer in this time is rejected with StoreError `timeout`. */
  commandTimeoutMs?: number;
  /** Works in this thread, for a process that serves nobody meanwhile. The limits above do not apply then. */
  inThisThread?: boolean;
  onGroup?: OnGroup;
}

const ledgerCheckTimeoutMs = 600_000;

/**
 * Opens the embedded store: one file, a writing thread, and one for reads and one for sums, which start when first needed.
 * Rejects with StoreError if the file cannot be opened.
 */
export const openSqliteStore = async ({
  file,
  busyTimeoutMs = 5_000,
  maxWaiting = 10_000,
  commandTimeoutMs = 30_000,
  inThisThread = false,
  onGroup,
}: SqliteStoreOptions): Promise<Store> => {
  const settings = { file, busyTimeoutMs, maxWaiting, commandTimeoutMs };
  const openLink = inThisThread ? openLocalLink : openWorkerLink;
  const writer = await openLink({ ...settings, role: 'writer', onGroup });
  const openReader = (): Promise<StoreLink> => openLink({ ...settings, role: 'reader' });
  const reader = linkOnDemand(openReader);
  // Sums over a long history take long. Their own thread keeps them from delaying other reads.
  const summer = linkOnDemand(openReader);
  const queued = createJobSignal();

  const methods = commandMethods((name, { kind, isLong, queuesJobs }, input) => {
    const answer = (kind === 'write' ? writer : isLong === true ? summer : reader).call(name, input);
    if (queuesJobs === undefined) return answer;
    return answer.then((output) => {
      if (queuesJobs(output, input)) queued.emit();
      return output;
    });
  });
  return {
    ...methods,
    kind: 'sqlite',
    checkLedger: shareRunning(async () => {
      const checker = await openLink({ ...settings, role: 'reader', commandTimeoutMs: ledgerCheckTimeoutMs });
      try {
        // The reader answers with the ledger's report.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        return (await checker.call('checkLedger', undefined)) as LedgerReport;
      } finally {
        await checker.close();
      }
    }),
    onJobQueued: (listener) => queued.listen(listener),
    ping: async () => {
      await Promise.all([writer.call('ping', undefined), reader.call('ping', undefined)]);
      return 0;
    },
    probe: async () => {
      await Promise.all([writer.call('probe', undefined), reader.call('ping', undefined)]);
    },
    close: async () => {
      await Promise.all([reader.close(), writer.close(), summer.close()]);
    },
  };
};
