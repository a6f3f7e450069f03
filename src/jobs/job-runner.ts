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

/** How long a worker's word is believed after its last heartbeat. */
export const leaseMs = 30_000;
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
  /**
   * Runs a job that was opened as `running` under this owner. It goes on whoever stops listening. `work` reaches the
   * executor as it is, for a job that no other process may take up: it need not lie in the store.
   */
  start(job: Job, work?: unknown): LiveJob;
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
  /** How many queued jobs of each kind run here at once; of a kind that is not named, none is claimed. */
  concurrency: Partial<Record<JobKind, number>>;
  /** Kinds whose work goes on upstream without us: a process that ends hands them over at once. */
  resumable?: readonly JobKind[];
  /** How often leases are renewed. */
  beatMs?: number;
  /** How long the store must have answered every beat before dead jobs are looked for. */
  settleMs?: number;
  /** Called when the end of a job has made an event that is due. */
  onWebhook?: () => void;
}

interface RunningJob extends LiveJob {
  readonly kind: JobKind;
  readonly abort: AbortController;
  /** The kind, of a job that was claimed from the queue. */
  readonly lane: JobKind | null;
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
  resumable = [],
  beatMs = leaseMs / 6,
  settleMs = leaseMs / 2,
  onWebhook,
}: JobRunnerOptions): JobRunner => {
  const owner = randomUUID();
  const running = new Map<string, RunningJob>();
  /** Dead jobs whose end is being written, by id. */
  const ending = new Map<string, Promise<void>>();
  /** Since when the store has answered every beat; null after one that failed, and at first. */
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
      // Its lease runs out, and the next process takes it up.
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
    // A job that was requeued behind our back and claimed again: the earlier attempt has no say any more.
    running.get(job.id)?.abort.abort(new LeaseLostError(job.id));
    running.set(job.id, live);
    return live;
  };

  /** Whether the lane may have more to claim. */
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

  /** Beside the heartbeat, which must not wait for an end that cannot be written now. */
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
   * In this order: after a long pause of the process, its own jobs are renewed before dead ones are ended. After a silence
   * of the store, or a pause of the machine, the leases of all may have run out: nobody is called dead before every living
   * worker had the time to renew.
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

  /** Aborts jobs, lets each say its last words, and gives it back, so that another process may take it up at once. */
  const cut = async (isMeant: (job: RunningJob) => boolean, patienceMs = lastWordsMs): Promise<void> => {
    const cutOne = async (id: string, { abort, finished }: RunningJob): Promise<void> => {
      abort.abort(new Error('the process is ending'));
      await Promise.race([Promise.allSettled([finished]), pause(patienceMs)]);
      try {
        const released = await store.releaseJobs({ owner, ids: [id] });
        if (released.length === 0) await store.renewLeases({ owner, ids: [id], leaseUntil: clock.now() });
      } catch (error) {
        log.warn({ err: error }, 'giving back a lease failed; it runs out');
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
      // What they must not leave half done, such as a start upstream, they end first.
      await cut((job) => resumable.includes(job.kind), timeoutMs);
      // Jobs that were admitted a moment before may still be on their way into `running`.
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
