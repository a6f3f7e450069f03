import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { AppError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { pause } from '../../repeat.ts';
import type { LeadSource } from '../lead-source.ts';
import { prepareIndex } from './build/prepare-index.ts';
import { openReader, type Reader, type ReaderEnd, type ReaderLimits } from './read/open-reader.ts';

export interface EmbeddedLeadsOptions {
  /** The index's own file; its folder is made when it is missing. */
  file: string;
  /** How many fictional profiles the data set has. */
  syntheticProfiles: number;
  /** Decides, with their number, who the fictional profiles are. */
  seed?: number;
  log: Log;
  limits?: Partial<EmbeddedLimits>;
  /** Starts the thread that answers searches; tests keep hold of it. */
  startReadWorker?: (file: string) => Worker;
}

interface EmbeddedLimits extends ReaderLimits {
  /** The whole of checking and building the index. */
  buildTimeoutMs: number;
  /** The wait before the first new attempt after a failure, doubled with every further one. */
  firstRetryMs: number;
  maxRetryMs: number;
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

/** A reader that has lived so long starts the row of failures anew. */
const steadyAfterMs = 60_000;

/**
 * The leads of the index in `file`, which is built in the background where it is missing, outdated or damaged.
 * Resolves at once; until the index serves, searches are refused with `upstream_error` and `status().ready` is
 * false. A thread that dies is replaced, after the index has been checked again. Rejects only when the folder of
 * `file` cannot be made.
 */
export const openEmbeddedLeads = async (options: EmbeddedLeadsOptions): Promise<EmbeddedLeads> => {
  await mkdir(dirname(options.file), { recursive: true });
  const limits = { ...defaultLimits, ...options.limits };
  const closing = new AbortController();
  let reader: Reader | null = null;
  let ready = newGate();

  const serveUntilItEnds = async (force: boolean): Promise<ReaderEnd> => {
    await prepareIndex({
      file: options.file,
      synthetic: { seed: options.seed ?? 1, profiles: options.syntheticProfiles },
      force,
      timeoutMs: limits.buildTimeoutMs,
      signal: closing.signal,
      log: options.log,
    });
    const opened = await openReader({ file: options.file, limits, startWorker: options.startReadWorker });
    if (closing.signal.aborted) await opened.close();
    reader = opened;
    ready.resolve();
    const end = await opened.ended;
    reader = null;
    if (!closing.signal.aborted) ready = newGate();
    return end;
  };

  const serveUntilClosed = async (): Promise<void> => {
    let failures = 0;
    let force = false;
    while (!closing.signal.aborted) {
      const startedMs = performance.now();
      try {
        const end = await serveUntilItEnds(force);
        force = end.kind === 'damaged';
        if (end.kind === 'closed') return;
        options.log.error(
          { err: end.cause },
          `the lead index's thread ${end.kind === 'damaged' ? 'found it damaged' : 'crashed'}`,
        );
      } catch (error) {
        if (!closing.signal.aborted)
          options.log.error({ err: error }, 'the lead index could not be made ready');
      }
      failures = performance.now() - startedMs > steadyAfterMs ? 1 : failures + 1;
      const waitMs = Math.min(limits.maxRetryMs, limits.firstRetryMs * 2 ** (failures - 1));
      await delay(waitMs, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  };
  const serving = serveUntilClosed();

  return {
    search: async (query, { signal }) => {
      signal.throwIfAborted();
      if (reader === null) await Promise.race([ready.promise, pause(limits.readyWaitMs, signal)]);
      signal.throwIfAborted();
      if (reader === null) throw notReady();
      return reader.search(query, signal);
    },
    status: () => ({
      ready: reader !== null,
      synthetic: reader?.synthetic ?? true,
      profiles: reader?.profiles ?? 0,
    }),
    whenReady: async () => {
      closing.signal.throwIfAborted();
      return ready.promise;
    },
    close: async () => {
      closing.abort(new AppError('shutting_down', 'The service is stopping. Try again in a moment.'));
      ready.reject(closing.signal.reason);
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

const notReady = (): AppError =>
  new AppError('upstream_error', 'The lead index is being prepared. Try again in a moment.', {
    retryAfterSeconds: 5,
  });
