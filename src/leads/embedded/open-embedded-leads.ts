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
  /** The profiles' own folder, which is made when it is missing. */
  folder: string;
  /** How many fictional profiles are made where no real ones were imported; with 0 none are, and none are served. */
  syntheticProfiles: number;
  /** Decides, with their number, who the fictional profiles are. */
  seed?: number;
  log: Log;
  limits?: Partial<EmbeddedLimits>;
  /** Starts the thread that answers searches; tests keep hold of it. */
  startReadWorker?: (folder: string) => Worker;
}

interface EmbeddedLimits extends ServingLimits {
  /** How long a search waits for an index that is being prepared, before it is refused. */
  readyWaitMs: number;
}

export interface EmbeddedLeads extends LeadSource {
  /** Resolves when searches can be answered, now or later; rejects when the source is closed before. */
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
 * The profiles in `folder`: the imported ones, or fictional ones, which are built in the background where they are
 * wanted and missing, outdated or damaged. Imports and other changes by other processes are followed within a second.
 * Resolves at once. Where neither were imported nor are wanted, searches find nobody. Until something serves that is
 * there or being built, searches are refused with `upstream_error` and `status().ready` is false.
 * A thread that dies is replaced. Real profiles that are damaged or taken away are waited for and never replaced here.
 * Rejects only when the folder cannot be made.
 */
export const openEmbeddedLeads = async (options: EmbeddedLeadsOptions): Promise<EmbeddedLeads> => {
  const { folder, log, startReadWorker } = options;
  await mkdir(folder, { recursive: true });
  const limits = { ...defaultLimits, ...options.limits };
  const closing = new AbortController();
  let reader: Reader | null = null;
  let ready = newGate();
  /** Why nothing will be ready by itself; null where something will. */
  let waiting: 'empty' | 'fault' | null = null;
  /** What is served, else what was last or is to be. */
  let isSynthetic = options.syntheticProfiles > 0 && !holdsReal(folder);

  const serving = keepServing({
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

/** A promise to be settled from outside, whose rejection nobody has to wait for. */
const newGate = (): PromiseWithResolvers<void> => {
  const gate = Promise.withResolvers<void>();
  gate.promise.catch(() => undefined);
  return gate;
};

const nothingThere = (): AppError =>
  new AppError('upstream_error', 'There are no profiles to search at present. Try again later.', {
    retryAfterSeconds: 300,
  });

const notReady = (): AppError =>
  new AppError('upstream_error', 'The lead index is being prepared. Try again in a moment.', {
    retryAfterSeconds: 5,
  });
