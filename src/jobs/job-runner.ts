import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { ErrorEnvelope } from '../errors.ts';
import type { Log } from '../log.ts';
import { pause, repeat } from '../repeat.ts';
import type { Job, JobKind, Store } from '../store/store.ts';
import type { Executor, ExecutorContext, JobEvent, JobOutcome } from './executor.ts';
import { finishJob, LeaseLostError } from './finish-job.ts';
import { createJobFeed, type JobFeed } from './job-feed.ts';
import { waitForJob } from './wait-for-job.ts';

/** How long a worker's word is believed after its last heartbeat. */
export const leaseMs = 30_000;
const heartbeatMs = leaseMs / 6;
const claimAtLeastEveryMs = 5_000;
const reapBatch = 100;
/** How long aborted jobs have to write their end. */
const lastWordsMs = 1_000;

/** The public error of a job that a fault of ours ended. */
const serverFault: ErrorEnvelope = {
  type: 'server_error',
  code: 'server_error',
  message: 'The service could not finish this job. It was not charged. Try again.',
};

export interface LiveJob {
  readonly feed: JobFeed<JobEvent>;
  /** The job in its terminal state; rejects when this process lost it (then the store knows more). */
  readonly finished: Promise<Job>;
}

export interface JobRunner {
  /** The lease owner's name, for jobs opened as `running`. */
  readonly owner: string;
  /** Runs a job that was opened as `running` under this owner. It goes on whoever stops listening. */
  start(job: Job): LiveJob;
  /** The job, when it runs in this process. */
  live(jobId: string): LiveJob | null;
  /** Waits for a terminal state, here or in another process, at most `timeoutMs`; then the job as it stands. */
  wait(input: { job: Job; timeoutMs: number; signal: AbortSignal }): Promise<Job>;
  /** Begins to claim queued jobs and to end dead ones. */
  begin(): void;
  /** Whether new jobs should be refused, as the process is about to end. */
  isDraining(): boolean;
  /** Claims no more, waits up to `timeoutMs` for what runs, then aborts it. */
  drain(timeoutMs: number): Promise<void>;
}

export interface JobRunnerOptions {
  store: Store;
  clock: Clock;
  log: Log;
  executors: Partial<Record<JobKind, Executor>>;
  /** How many queued jobs run here at once. */
  concurrency: number;
}

interface RunningJob extends LiveJob {
  readonly abort: AbortController;
  readonly isQueued: boolean;
}

/**
 * Runs jobs in this process under leases: interactive ones at once, queued ones as capacity allows. A heartbeat
 * renews every lease; a job whose lease is lost is aborted here and ended by whoever reaps it.
 */
export const createJobRunner = ({
  store,
  clock,
  log,
  executors,
  concurrency,
}: JobRunnerOptions): JobRunner => {
  const owner = randomUUID();
  const running = new Map<string, RunningJob>();
  const kinds = (Object.keys(executors) as JobKind[]).filter((kind) => executors[kind] !== undefined);
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
      // Its lease runs out, and the next process takes it up.
      if (context.signal.aborted && job.attempts < job.maxAttempts) throw context.signal.reason;
      log.error({ err: error, jobId: job.id, kind: job.kind }, 'a job failed by a fault of the service');
      return { status: 'failed', error: serverFault, metadata: {} };
    }
  };

  const runToEnd = async (job: Job, context: ExecutorContext): Promise<Job> => {
    const outcome = await attempt(job, context);
    const isDone = outcome.status === 'done';
    return finishJob(
      { store, log },
      {
        id: job.id,
        owner,
        status: outcome.status,
        result: isDone ? JSON.stringify(outcome.result) : null,
        error: isDone ? null : outcome.error,
        metadata: JSON.stringify(outcome.metadata),
        charge: isDone ? outcome.charge : 0n,
        entryId: randomUUID(),
        media: isDone ? outcome.media : [],
        now: clock.now(),
      },
    );
  };

  const launch = (job: Job, isQueued: boolean): LiveJob => {
    const abort = new AbortController();
    const feed = createJobFeed<JobEvent>();
    const finished = runToEnd(job, { emit: feed.emit, signal: abort.signal }).finally(() => {
      if (running.get(job.id) === live) running.delete(job.id);
      feed.end();
      if (isQueued) claim();
    });
    finished.catch((error: unknown) =>
      log.error({ err: error, jobId: job.id }, 'a job was lost by this process'),
    );
    const live: RunningJob = { feed, finished, abort, isQueued };
    // A job that was requeued behind our back and claimed again: the earlier attempt has no say any more.
    running.get(job.id)?.abort.abort(new LeaseLostError(job.id));
    running.set(job.id, live);
    return live;
  };

  const claimUntilFull = async (): Promise<void> => {
    while (!draining.signal.aborted) {
      isClaimWanted = false;
      const room = concurrency - [...running.values()].filter(({ isQueued }) => isQueued).length;
      if (room <= 0) return;
      const now = clock.now();
      const jobs = await store.claimJobs({ owner, kinds, limit: room, leaseUntil: now + leaseMs, now });
      for (const job of jobs) launch(job, true);
      if (jobs.length < room && !isClaimWanted) return;
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
    const ids = [...running.keys()];
    if (ids.length === 0) return;
    const now = clock.now();
    const held = new Set(await store.renewLeases({ owner, ids, leaseUntil: now + leaseMs, now }));
    for (const id of ids) if (!held.has(id)) running.get(id)?.abort.abort(new LeaseLostError(id));
  };

  const reap = async (): Promise<void> => {
    const { requeued, failed } = await store.reapJobs({
      now: clock.now(),
      limit: reapBatch,
      error: serverFault,
    });
    for (const job of failed) log.warn({ jobId: job.id, kind: job.kind }, 'a dead job was ended uncharged');
    if (requeued.length > 0) claim();
  };

  /** In this order: after a long pause of the process, its own jobs are renewed before dead ones are ended. */
  const renewThenReap = async (): Promise<void> => {
    await renew();
    if (!draining.signal.aborted) await reap();
  };

  return {
    owner,
    start: (job) => launch(job, false),
    live: (jobId) => running.get(jobId) ?? null,
    wait: (input) =>
      waitForJob({ ...input, store, finishedHere: running.get(input.job.id)?.finished ?? null }),
    begin: () => {
      stopListening = store.onJobQueued(claim);
      const { signal } = draining;
      void repeat({
        what: 'renewing leases',
        intervalMs: heartbeatMs,
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
      // Jobs that were admitted a moment before may still be on their way into `running`.
      while (running.size > 0) {
        const all = Promise.allSettled([...running.values()].map(({ finished }) => finished));
        if (await Promise.race([all.then(() => false), timeOver])) break;
      }
      const cut = [...running.values()];
      for (const { abort } of cut) abort.abort(new Error('the process is ending'));
      await Promise.race([Promise.allSettled(cut.map(({ finished }) => finished)), pause(lastWordsMs)]);
      ended.abort();
    },
  };
};
