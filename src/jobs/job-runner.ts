import { randomUUID } from 'node:crypto';
import type { Clock } from '../kit/clock.ts';
import type { ErrorEnvelope } from '../kit/errors.ts';
import type { Log } from '../kit/log.ts';
import { pause, repeat } from '../kit/repeat.ts';
import type { Job, JobKind, Store } from '../store/store.ts';
import type { Executor, ExecutorContext, JobEvent, JobOutcome } from './executor.ts';
import { finishJob } from './finish-job.ts';
import { createJobFeed, type JobFeed } from './job-feed.ts';
import { LeaseLostError } from './outlive-outage.ts';
import { waitForJob } from './wait-for-job.ts';
import { toWebhookEvent } from './webhook-event.ts';

/** A worker counts as dead this long after its last heartbeat. */
export const leaseMs = 30_000;
const claimAtLeastEveryMs = 5_000;
const reapBatch = 100;
/** Time for aborted jobs to write their end. */
const lastWordsMs = 1_000;

/** The public error of a job that failed by a fault of the service. */
const serverFault: ErrorEnvelope = {
  type: 'server_error',
  code: 'server_error',
  message: 'The service could not finish this job. It was not charged. Try again.',
};

export interface LiveJob {
  readonly feed: JobFeed<JobEvent>;
  /** Resolves with the terminal job. Rejects if this process lost the job; then read the store. */
  readonly finished: Promise<Job>;
}

export interface JobRunner {
  /** The lease owner, for jobs opened as `running`. */
  readonly owner: string;
  /**
   * Runs a job that was opened as `running` under this owner, also if nobody listens any more. `work` is passed to the
   * executor. It need not be in the store, because no other process may take over such a job.
   */
  start(job: Job, work?: unknown): LiveJob;
  /** Returns the job if it runs in this process. */
  live(jobId: string): LiveJob | null;
  /** Waits up to `timeoutMs` for a terminal state, here or in another process. Returns the job as it is then. */
  wait(input: { job: Job; timeoutMs: number; signal: AbortSignal }): Promise<Job>;
  /** Starts to claim queued jobs and to end dead ones. */
  begin(): void;
  /** True if the process is ending and new jobs should be refused. */
  isDraining(): boolean;
  /** Stops claiming, waits up to `timeoutMs` for running jobs, then aborts them. */
  drain(timeoutMs: number): Promise<void>;
}

export interface JobRunnerOptions {
  store: Store;
  clock: Clock;
  log: Log;
  executors: Partial<Record<JobKind, Executor>>;
  /** Maximum number of queued jobs of each kind that run here at once. Kinds that are not named are not claimed. */
  concurrency: Partial<Record<JobKind, number>>;
  /** Kinds that continue upstream without this process. A process that ends hands them over at once. */
  resumable?: readonly JobKind[];
  /** How often leases are renewed. */
  beatMs?: number;
  /** Dead jobs are searched only after the store has answered every heartbeat for this long. */
  settleMs?: number;
  /** Called when the end of a job has made a webhook event. */
  onWebhook?: () => void;
}

interface RunningJob extends LiveJob {
  readonly kind: JobKind;
  readonly abort: AbortController;
  /** The kind of a job that was claimed from the queue; null otherwise. */
  readonly lane: JobKind | null;
}

/**
 * Runs jobs in this process under leases: interactive ones at once, queued ones when there is capacity. A heartbeat
 * renews the leases. A job that loses its lease is aborted here, and ended by the process that reaps it.
 */
export const createJobRunner = ({
  store,
  clock,
  log,
  executors,
  concurrency,
  resumable = [],
  beatMs = leaseMs / 6,
  settleMs = leaseMs / 2,
  onWebhook,
}: JobRunnerOptions): JobRunner => {
  const owner = randomUUID();
  const running = new Map<string, RunningJob>();
  /** Dead jobs whose end is being written, by id. */
  const ending = new Map<string, Promise<void>>();
  /** Start of the time in which the store has answered every heartbeat; null at first and after a failed one. */
  let answersSince: number | null = null;
  let lastBeatAt = -Infinity;
  const lanes = (Object.entries(concurrency) as [JobKind, number][]).filter(
    ([kind]) => executors[kind] !== undefined,
  );
  const draining = new AbortController();
  const ended = new AbortController();
  let isClaiming = false;
  let claiming: Promise<void> = Promise.resolve();
  let isClaimWanted = false;
  let stopListening = (): void => undefined;

  const attempt = async (job: Job, context: ExecutorContext): Promise<JobOutcome> => {
    try {
      const executor = executors[job.kind];
      if (executor === undefined) throw new Error(`no executor for jobs of kind ${job.kind}`);
      return await executor(job, context);
    } catch (error) {
      if (context.signal.reason instanceof LeaseLostError) throw context.signal.reason;
      // The lease expires, and the next process takes the job.
      if (context.signal.aborted && job.attempts < job.maxAttempts) throw context.signal.reason;
      log.error({ err: error, jobId: job.id, kind: job.kind }, 'a job failed by a fault of the service');
      return { status: 'failed', error: serverFault, metadata: {} };
    }
  };

  const end = async (job: Job, outcome: JobOutcome): Promise<Job> => {
    const now = clock.now();
    const isDone = outcome.status === 'done';
    const { result = null } = outcome;
    const error = isDone ? null : outcome.error;
    const webhook = toWebhookEvent(job, { status: outcome.status, result, error, finishedAt: now });
    const finished = await finishJob(
      { store, log },
      {
        id: job.id,
        owner,
        status: outcome.status,
        result: result === null ? null : JSON.stringify(result),
        error,
        metadata: JSON.stringify(outcome.metadata),
        charge: isDone ? outcome.charge : 0n,
        entryId: randomUUID(),
        media: isDone
          ? outcome.media.map(({ keepMs, ...media }) => ({
              ...media,
              accountId: job.accountId,
              jobId: job.id,
              expiresAt: now + keepMs,
            }))
          : [],
        webhook,
        now,
      },
    );
    if (webhook !== null) onWebhook?.();
    return finished;
  };

  const runToEnd = async (job: Job, context: ExecutorContext): Promise<Job> =>
    end(job, await attempt(job, context));

  const launch = (job: Job, lane: JobKind | null, work?: unknown): LiveJob => {
    const abort = new AbortController();
    const feed = createJobFeed<JobEvent>();
    const record: ExecutorContext['record'] = async (update) => {
      if (!(await store.recordProgress({ id: job.id, owner, ...update }))) throw new LeaseLostError(job.id);
    };
    const finished = runToEnd(job, { work, emit: feed.emit, signal: abort.signal, record }).finally(() => {
      if (running.get(job.id) === live) running.delete(job.id);
      feed.end();
      if (lane !== null) claim();
    });
    finished.catch((error: unknown) => {
      if (draining.signal.aborted) log.info({ jobId: job.id }, 'a job is left to another process');
      else log.error({ err: error, jobId: job.id }, 'a job was lost by this process');
    });
    const live: RunningJob = { feed, finished, abort, lane, kind: job.kind };
    // The job was requeued by another process and claimed here again: the earlier attempt must stop.
    running.get(job.id)?.abort.abort(new LeaseLostError(job.id));
    running.set(job.id, live);
    return live;
  };

  /** Returns true if there may be more jobs to claim. */
  const claimLane = async (kind: JobKind, limit: number): Promise<boolean> => {
    const room = limit - [...running.values()].filter(({ lane }) => lane === kind).length;
    if (room <= 0) return false;
    const now = clock.now();
    const jobs = await store.claimJobs({ owner, kind, limit: room, leaseUntil: now + leaseMs, now });
    for (const job of jobs) launch(job, kind);
    return jobs.length === room;
  };

  const claimUntilFull = async (): Promise<void> => {
    let hasMore = true;
    while (hasMore && !draining.signal.aborted) {
      isClaimWanted = false;
      hasMore = false;
      for (const [kind, limit] of lanes) hasMore = (await claimLane(kind, limit)) || hasMore;
      hasMore ||= isClaimWanted;
    }
  };

  const claim = (): void => {
    isClaimWanted = true;
    if (isClaiming || draining.signal.aborted) return;
    isClaiming = true;
    claiming = claimUntilFull()
      .catch((error: unknown) => log.error({ err: error }, 'claiming queued jobs failed'))
      .then(() => {
        isClaiming = false;
        if (isClaimWanted) claim();
      });
  };

  const renew = async (): Promise<void> => {
    const ids = [...running.keys(), ...ending.keys()];
    if (ids.length === 0) {
      await store.ping();
      return;
    }
    const held = new Set(await store.renewLeases({ owner, ids, leaseUntil: clock.now() + leaseMs }));
    for (const id of ids) if (!held.has(id)) running.get(id)?.abort.abort(new LeaseLostError(id));
  };

  const reap = async (): Promise<void> => {
    const now = clock.now();
    const { requeued, doomed } = await store.reapJobs({
      owner,
      leaseUntil: now + leaseMs,
      now,
      limit: reapBatch - ending.size,
    });
    if (requeued.length > 0) claim();
    for (const job of doomed) ending.set(job.id, endDead(job));
  };

  /** Runs beside the heartbeat, which must not wait for a write that fails now. */
  const endDead = async (job: Job): Promise<void> => {
    log.warn({ jobId: job.id, kind: job.kind }, 'a dead job is ended uncharged');
    try {
      await end(job, { status: 'failed', error: serverFault, metadata: {} });
    } catch (error) {
      log.error({ err: error, jobId: job.id }, 'a dead job could not be ended; another process will try');
    } finally {
      ending.delete(job.id);
    }
  };

  /**
   * Renews before it reaps, so that a process that was paused for long first renews its own jobs. After an outage of
   * the store, or a pause of the machine, all leases may have expired. Then every living worker gets time to renew
   * before any job counts as dead.
   */
  const renewThenReap = async (): Promise<void> => {
    try {
      await renew();
    } catch (error) {
      answersSince = null;
      throw error;
    }
    const now = clock.now();
    if (now - lastBeatAt > leaseMs / 2) answersSince = null;
    lastBeatAt = now;
    answersSince ??= performance.now();
    const isSettled = performance.now() - answersSince >= settleMs;
    if (isSettled && ending.size < reapBatch && !draining.signal.aborted) await reap();
  };

  /** Aborts jobs, gives each time to write its end, and releases it, so that another process can take it at once. */
  const cut = async (isMeant: (job: RunningJob) => boolean, graceMs = lastWordsMs): Promise<void> => {
    const cutOne = async (id: string, { abort, finished }: RunningJob): Promise<void> => {
      abort.abort(new Error('the process is ending'));
      await Promise.race([Promise.allSettled([finished]), pause(graceMs)]);
      try {
        const released = await store.releaseJobs({ owner, ids: [id] });
        if (released.length === 0) await store.renewLeases({ owner, ids: [id], leaseUntil: clock.now() });
      } catch (error) {
        log.warn({ err: error }, 'releasing a lease failed; it will expire');
      }
    };
    const meant = [...running].filter(([, job]) => isMeant(job));
    await Promise.all(meant.map(([id, job]) => cutOne(id, job)));
  };

  return {
    owner,
    start: (job, work) => launch(job, null, work),
    live: (jobId) => running.get(jobId) ?? null,
    wait: (input) =>
      waitForJob({ ...input, store, finishedHere: running.get(input.job.id)?.finished ?? null }),
    begin: () => {
      stopListening = store.onJobQueued(claim);
      const { signal } = draining;
      void repeat({
        what: 'renewing leases',
        intervalMs: beatMs,
        signal: ended.signal,
        log,
        work: renewThenReap,
      });
      void repeat({
        what: 'claiming queued jobs',
        intervalMs: claimAtLeastEveryMs,
        signal,
        log,
        work: claim,
      });
    },
    isDraining: () => draining.signal.aborted,
    drain: async (timeoutMs) => {
      draining.abort();
      stopListening();
      await claiming;
      const timeOver = pause(timeoutMs).then(() => true);
      // These jobs first complete what must not be left half done, such as a start upstream.
      await cut((job) => resumable.includes(job.kind), timeoutMs);
      // Jobs that were admitted just before may not be in `running` yet.
      while (running.size > 0 || ending.size > 0) {
        const all = Promise.allSettled([
          ...[...running.values()].map(({ finished }) => finished),
          ...ending.values(),
        ]);
        if (await Promise.race([all.then(() => false), timeOver])) break;
      }
      await cut(() => true);
      ended.abort();
    },
  };
};
