import { mkdir } from 'node:fs/promises';
import type { Worker } from 'node:worker_threads';
import { AppError } from '../../kit/errors.ts';
import type { Log } from '../../kit/log.ts';
import { pause } from '../../kit/repeat.ts';
import type { LeadSource } from '../lead-source.ts';
import { holdsReal } from './folder-changes.ts';
import { keepServing, type ServingLimits } from './keep-serving.ts';
import type { Reader } from './read/open-reader.ts';

export interface EmbeddedLeadsOptions {
  /** The folder of the profiles, created if it is missing. */
  folder: string;
  /** The number of fictional profiles if no real ones were imported; with 0 none are made or served. */
  syntheticProfiles: number;
  /** Determines the fictional profiles, together with their number. */
  seed?: number;
  log: Log;
  limits?: Partial<EmbeddedLimits>;
  /** Nothing in the folder is read before this resolves, also when the source is closed first. */
  startAfter?: Promise<void>;
  /** Starts the thread that answers searches. Tests replace it. */
  startReadWorker?: (folder: string) => Worker;
}

interface EmbeddedLimits extends ServingLimits {
  /** How long a search waits for an index in preparation before it is refused. */
  readyWaitMs: number;
}

export interface EmbeddedLeads extends LeadSource {
  /** Resolves when searches can be answered, now or later. Rejects if the source is closed first. */
  whenReady(): Promise<void>;
}

const defaultLimits: EmbeddedLimits = {
  maxWaiting: 64,
  searchTimeoutMs: 5_000,
  stuckAfterMs: 30_000,
  openTimeoutMs: 30_000,
  buildTimeoutMs: 3_600_000,
  firstRetryMs: 100,
  maxRetryMs: 30_000,
  readyWaitMs: 0,
};

/**
 * Opens the profiles in `folder`: the imported ones, or fictional ones. Missing, outdated or damaged fictional profiles
 * are built in the background. Changes by other processes are picked up within a second. Resolves at once. If there are
 * neither real nor fictional profiles, searches find nobody. Until the first profiles can be served, searches are
 * refused with `upstream_error` and `status().ready` is false. A dead thread is replaced. Damaged or missing real
 * profiles are waited for, never replaced. Rejects only if the folder cannot be created.
 */
export const openEmbeddedLeads = async (options: EmbeddedLeadsOptions): Promise<EmbeddedLeads> => {
  const { folder, log, startReadWorker } = options;
  await mkdir(folder, { recursive: true });
  const limits = { ...defaultLimits, ...options.limits };
  const closing = new AbortController();
  let reader: Reader | null = null;
  let ready = newGate();
  /** The reason why nothing will be ready without the operator, or null. */
  let waiting: 'empty' | 'fault' | null = null;
  /** Describes the served profiles, or else the last or next ones. */
  let isSynthetic = options.syntheticProfiles > 0 && !holdsReal(folder);

  const serve = (): Promise<void> =>
    keepServing({
      folder,
      synthetic: { seed: options.seed ?? 1, profiles: options.syntheticProfiles },
      limits,
      log,
      signal: closing.signal,
      startReadWorker,
      onWaiting: (reason) => {
        waiting = reason;
      },
      onReader: (next) => {
        isSynthetic = next === null ? isSynthetic && !holdsReal(folder) : next.served.synthetic;
        reader = next;
        waiting = null;
        if (next !== null) ready.resolve();
        else if (!closing.signal.aborted) ready = newGate();
      },
    });
  const serving = options.startAfter === undefined ? serve() : options.startAfter.then(serve);

  return {
    search: async (query, { signal }) => {
      signal.throwIfAborted();
      if (reader === null && waiting === null)
        await Promise.race([ready.promise, pause(limits.readyWaitMs, signal)]);
      signal.throwIfAborted();
      if (reader === null && waiting === 'empty') return [];
      if (reader === null) throw waiting === null ? notReady() : nothingThere();
      return reader.search(query, signal);
    },
    status: () =>
      reader === null
        ? {
            ready: waiting === 'empty',
            synthetic: isSynthetic,
            profiles: 0,
            revision: waiting === 'empty' ? 'empty' : 'none',
          }
        : {
            ready: true,
            synthetic: reader.served.synthetic,
            profiles: reader.served.profiles,
            revision: reader.served.generation,
            facets: reader.served.facets,
          },
    whenReady: async () => {
      closing.signal.throwIfAborted();
      return ready.promise;
    },
    close: async () => {
      const reason = new AppError('shutting_down', 'The service is stopping. Try again in a moment.');
      closing.abort(reason);
      ready.reject(reason);
      await reader?.close();
      await serving;
    },
  };
};

/** Creates a promise that is settled from outside. Its rejection may stay unhandled. */
const newGate = (): PromiseWithResolvers<void> => {
  const gate = Promise.withResolvers<void>();
  gate.promise.catch(() => undefined);
  return gate;
};

const nothingThere = (): AppError =>
  new AppError('upstream_error', 'There are no profiles to search now. Try again later.', {
    retryAfterSeconds: 300,
  });

const notReady = (): AppError =>
  new AppError('upstream_error', 'The lead index is being prepared. Try again in a moment.', {
    retryAfterSeconds: 5,
  });
