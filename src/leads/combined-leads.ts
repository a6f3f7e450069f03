import { throttle } from '../kit/repeat.ts';
import { callWithin } from '../kit/deadline.ts';
import { createCircuitBreaker, failuresInARow } from '../kit/circuit-breaker.ts';
import { AppError } from '../kit/errors.ts';
import type { Log } from '../kit/log.ts';
import { InconclusiveError } from './search-errors.ts';
import type { LeadSource, LeadStatus } from './lead-source.ts';

export interface CombinedSource {
  name: string;
  source: LeadSource;
  timeoutMs: number;
  /** Wraps the source in a cache. A cached page tells nothing about whether the source works. */
  keep?: (source: LeadSource) => LeadSource;
}

export interface CombinedLeadsOptions {
  /** In the order in which they are asked. */
  sources: readonly CombinedSource[];
  /** The longest search in all sources together. */
  timeoutMs: number;
  log: Log;
  /** A clock that never goes back. */
  nowMs?: () => number;
}

/** A source that failed so often in a row is left alone for `openMs`. */
const breaker = { opensAfter: failuresInARow(5), openMs: 10_000, probeMs: 10_000 };
/** A source that was given this part of its time counts as failed when the caller leaves. */
const fairShare = 0.9;
const logIntervalMs = 60_000;
/** No source is asked with less time left. A timer that was set late by the event loop ends that much early. */
const minMs = 50;
const defaultRetrySeconds = 5;
const maxRetrySeconds = 300;

/**
 * Combines several sources. The first answer counts, an empty one included. A source is skipped when it is not ready,
 * has no profiles, is late, fails, or failed too often a short time ago. When no source has profiles, the answer is
 * empty. Throws AppError `upstream_error` when no source answers.
 *
 * Generated profiles never replace real ones: of several sources, a generated one is not asked.
 */
export const createCombinedLeads = (options: CombinedLeadsOptions): LeadSource => {
  const { sources, timeoutMs, log, nowMs = () => performance.now() } = options;
  const members = sources.map(({ keep = (source) => source, ...each }) => ({
    ...keep(createGuardedLeads(each, { log, nowMs })),
    name: each.name,
  }));
  const isEmpty = ({ ready, profiles }: LeadStatus): boolean => ready && profiles === 0;
  const serves = (status: LeadStatus): boolean =>
    status.ready && (sources.length === 1 || !(status.synthetic || isEmpty(status)));
  const areEmpty = (): boolean => members.length > 0 && members.every(({ status }) => isEmpty(status()));

  return {
    search: async (query, { signal, isFree = false }) => {
      if (areEmpty()) return [];
      const endMs = nowMs() + timeoutMs;
      const failures: unknown[] = [];
      for (const member of members) {
        signal.throwIfAborted();
        const leftMs = endMs - nowMs();
        if (leftMs < minMs) break;
        const status = member.status();
        if (isFree && status.profiles === null && status.countsFree !== true) continue;
        try {
          if (!serves(status)) throw new Error(`${member.name} has nothing to search yet`);
          const call = (inner: AbortSignal) => member.search(query, { signal: inner });
          return await callWithin({ call, timeoutMs: leftMs, signal });
        } catch (error) {
          signal.throwIfAborted();
          failures.push(error);
        }
      }
      throw noneAnswered(failures);
    },
    status: () => {
      const states = members.map(({ status }) => status());
      const first = states.find(serves);
      return {
        ready: first !== undefined || areEmpty(),
        synthetic: first?.synthetic ?? false,
        profiles: first === undefined ? 0 : first.profiles,
        countsFree: first?.countsFree ?? false,
        // Cached pages of a source that is not ready are not answered.
        ...(first?.facets === undefined ? {} : { facets: first.facets }),
        revision: states.map(({ ready, revision }) => (ready ? revision : 'away')).join(' '),
      };
    },
    close: async () => {
      await Promise.all(sources.map(({ source }) => source.close()));
    },
  };
};

/** Limits the time of `source`, rests it for a while after too many failures, and logs its failures. */
const createGuardedLeads = (
  { name, source, timeoutMs }: Omit<CombinedSource, 'keep'>,
  { log, nowMs }: Required<Pick<CombinedLeadsOptions, 'log' | 'nowMs'>>,
): LeadSource => {
  const circuit = createCircuitBreaker({ ...breaker, nowMs });
  const reportFailure = throttle<unknown>(
    logIntervalMs,
    (err, leftOut) => log.warn({ err, source: name, leftOut }, 'a lead source does not answer'),
    nowMs,
  );
  return {
    search: async (query, { signal }) => {
      const pass = circuit.enter();
      if (pass === null) throw new Error(`${name} failed too often lately`);
      const startMs = nowMs();
      try {
        const call = (inner: AbortSignal) => source.search(query, { signal: inner });
        const leads = await callWithin({ call, timeoutMs, signal });
        pass.succeeded();
        return leads;
      } catch (error) {
        // A caller that left, or a time that other sources used up, tells nothing about this source.
        if (signal.aborted && nowMs() - startMs < fairShare * timeoutMs) {
          pass.released();
          throw error;
        }
        if (!(error instanceof InconclusiveError)) pass.failed();
        else if (error.wasAsked) pass.succeeded();
        else pass.released();
        reportFailure(error);
        throw error;
      }
    },
    status: () => source.status(),
    close: () => source.close(),
  };
};

const noneAnswered = (failures: readonly unknown[]): AppError => {
  // Prefers the message of a source that works over the news that another one is away.
  const inconclusive = failures.find((failure) => failure instanceof InconclusiveError);
  const retries = failures.map((failure) =>
    failure instanceof AppError ? failure.retryAfterSeconds : undefined,
  );
  return new AppError(
    'upstream_error',
    inconclusive?.message ?? 'The data source is temporarily unavailable. Try again.',
    {
      retryAfterSeconds: Math.min(
        ...retries.map((seconds) => seconds ?? defaultRetrySeconds),
        maxRetrySeconds,
      ),
      cause: new AggregateError(failures, 'no lead source answered'),
    },
  );
};
