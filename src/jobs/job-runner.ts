import { randomUUID } from 'node:crypto';
import { withPurpose } from '../kit/call-purpose.ts';
import { AppError, messages, type ErrorEnvelope } from '../kit/errors.ts';
import { newId } from '../kit/ids.ts';
import type { Nano } from '../kit/money.ts';
import { isJsonObject, type JsonObject, writeKept } from '../kit/json.ts';
import { LeaseLostError, outliveOutage, pause } from '../kit/repeat.ts';
import { endedJobRecord } from '../store/commands/job-table.ts';
import type { Job, JobKind } from '../store/store.ts';
import type { Executor, ExecutorContext, JobEvent, JobOutcome } from './executor.ts';
import { createJobFeed, type JobFeed } from './job-feed.ts';
import { createJobQueue, defaultBeatMs, leaseMs, type JobQueueOptions } from './job-queue.ts';
import { isTerminal, toWebhookEvent } from './public-job.ts';
import { unserved } from './provider-failure.ts';
import { callWithin } from '../kit/deadline.ts';

/** Time for aborted jobs to write their end. */
const lastWordsMs = 1_000;
const firstPollMs = 50;
const slowestPollMs = 1_000;

const serverFault: ErrorEnvelope = {
  type: 'server_error',
  code: 'server_error',
  message: 'The service could not finish this job. It was not charged. Try again.',
};

/** If this process ended the job: with its account's available balance just after, and its result as made. */
export type KnownJob = Job & { available?: Nano; made?: JsonObject };

const cancelled = new AppError('cancelled', messages.cancelled).toEnvelope();

export interface LiveJob {
  readonly feed: JobFeed<JobEvent>;
  readonly provider: string | null;
  /** Resolves with the terminal job. Rejects if this process lost the job; then read the store. */
  readonly finished: Promise<KnownJob>;
}

export type JobRunner = ReturnType<typeof createJobRunner>;

export interface JobRunnerOptions extends Pick<
  JobQueueOptions,
  'store' | 'clock' | 'log' | 'beatMs' | 'settleMs' | 'runnable'
> {
  executors: Partial<Record<JobKind, Executor>>;
  /** Maximum number of queued jobs of each kind that run here at once. Kinds that are not named are not claimed. */
  concurrency: Partial<Record<JobKind, number>>;
  /** Kinds that continue upstream without this process. A process that ends hands them over at once. */
  resumable?: readonly JobKind[];
  /** Make the bodies of webhook events from ended jobs. Default: `toJobEvent`. */
  eventBodies?: Partial<Record<JobKind, (job: Job) => JsonObject>>;
  /** Public errors of jobs of a kind that a process lost, in place of the usual one. */
  lostErrors?: Partial<Record<JobKind, ErrorEnvelope>>;
  /** Called when the end of a job has made a webhook event. */
  onWebhook?: () => void;
}

interface RunningJob extends LiveJob {
  readonly kind: JobKind;
  readonly accountId: string;
  readonly abort: AbortController;
  /** The kind of a job that was claimed from the queue; null otherwise. */
  readonly lane: JobKind | null;
}

interface RunnerState extends JobRunnerOptions, Pick<JobQueueOptions, 'owner' | 'ending' | 'leaseClock'> {
  running: Map<string, RunningJob>;
  draining: AbortController;
}

/**
 * Runs jobs in this process under leases: interactive ones at once, queued ones when there is capacity. A heartbeat
 * renews the leases. A job that loses its lease is aborted here, and ended by the process that reaps it.
 */
export const createJobRunner = (options: JobRunnerOptions) => {
  const leaseClock = { aheadMs: 0, now: () => options.clock.now() - leaseClock.aheadMs };
  const state: RunnerState = {
    ...options,
    leaseClock,
    owner: randomUUID(),
    running: new Map(),
    ending: new Map(),
    draining: new AbortController(),
  };
  const { store, owner, running, ending, draining, executors, resumable = [] } = state;
  const lanes = (Object.entries(options.concurrency) as [JobKind, number][]).filter(
    ([kind]) => executors[kind] !== undefined,
  );
  const queue = createJobQueue({
    ...state,
    lanes,
    draining: draining.signal,
    launch: (job) => void launch(state, job, { lane: job.kind, onEnd: () => queue.claim() }),
    endDead: (job) => endDead(state, job),
  });
  const ended = new AbortController();
  let stopListening = (): void => undefined;

  return {
    /** The lease of a job that is opened as `running`. */
    newLease: () => ({ leaseOwner: owner, leaseUntil: leaseClock.now() + leaseMs }),
    owner,
    /**
     * Runs a job that was opened as `running` under this owner, also if nobody listens any more. `work` is passed to the
     * executor. It need not be in the store, because no other process may take over such a job.
     */
    start: (job: Job, work?: unknown): LiveJob => launch(state, job, { lane: null, work }),
    live: (jobId: string): LiveJob | null => running.get(jobId) ?? null,
    /** Waits up to `timeoutMs` for a terminal state, here or in another process. Returns the job as it is then. */
    wait: (input: WaitInput): Promise<KnownJob> => waitForJob(state, input),
    /** Ends a queued job of the account as `cancelled`, uncharged. Null: it has begun or ended, and nothing was changed. */
    cancel: (job: Pick<Job, 'id' | 'accountId'>): Promise<Job | null> => cancel(state, job),
    /** Starts to claim queued jobs and to end dead ones. */
    begin: (): void => {
      stopListening = store.onJobQueued(queue.claim);
      queue.begin(ended.signal);
    },
    isDraining: (): boolean => draining.signal.aborted,
    /** Stops claiming, waits up to `timeoutMs` for running jobs, then aborts them. */
    drain: async (timeoutMs: number): Promise<void> => {
      draining.abort();
      stopListening();
      await queue.claimed();
      const timeOver = pause(timeoutMs).then(() => true);
      // These jobs first complete what must not be left half done, such as a start upstream.
      await cut(state, (job) => resumable.includes(job.kind), timeoutMs);
      // Jobs that were admitted just before may not be in `running` yet.
      while (running.size > 0 || ending.size > 0) {
        const all = Promise.allSettled([
          ...[...running.values()].map(({ finished }) => finished),
          ...ending.values(),
        ]);
        if (await Promise.race([all.then(() => false), timeOver])) break;
      }
      await cut(state, () => true);
      ended.abort();
    },
  };
};

const launch = (
  state: RunnerState,
  job: Job,
  { lane, work, onEnd }: { lane: JobKind | null; work?: unknown; onEnd?: () => void },
): LiveJob => {
  const { store, log, owner, running, draining, beatMs = defaultBeatMs } = state;
  const abort = new AbortController();
  const feed = createJobFeed<JobEvent>();
  // The webhook event of the job's end shows the progress that the job's row has.
  let { progress } = job;
  const record: ExecutorContext['record'] = async (update) => {
    if (!(await store.recordProgress({ id: job.id, owner, ...update }))) throw new LeaseLostError(job.id);
    progress = update.progress ?? progress;
  };
  let provider: string | null = null;
  const context: ExecutorContext = {
    work,
    isQueued: lane !== null,
    emit: feed.emit,
    served: (name) => (provider = name),
    signal: abort.signal,
    record,
  };
  let isReturned = false;
  const runToEnd = async (): Promise<KnownJob> => {
    const outcome = await attempt(state, job, context);
    if (outcome.status !== 'queued') return end(state, { ...job, progress }, outcome);
    // A route that cannot serve this one job does not rest, and would be asked in vain again at once.
    await pause(beatMs, draining.signal);
    const giveBack = (): Promise<boolean> => {
      // This process may have claimed it again.
      if (running.get(job.id) !== live) throw new LeaseLostError(job.id);
      return store.returnJob({ id: job.id, owner });
    };
    isReturned = await outliveOutage(giveBack, { what: 'giving a job back', jobId: job.id, log });
    throw new Error('every route of the job rests');
  };
  const finished = runToEnd().finally(() => {
    if (running.get(job.id) === live) running.delete(job.id);
    feed.end();
    onEnd?.();
  });
  finished.catch((error: unknown) => {
    if (isReturned) log.info({ jobId: job.id }, 'a job is back in the queue while every route rests');
    else if (draining.signal.aborted) log.info({ jobId: job.id }, 'a job is left to another process');
    else log.error({ err: error, jobId: job.id }, 'a job was lost by this process');
  });
  const live: RunningJob = {
    feed,
    get provider() {
      return provider;
    },
    finished,
    abort,
    lane,
    kind: job.kind,
    accountId: job.accountId,
  };
  // The job was requeued by another process and claimed here again: the earlier attempt must stop.
  running.get(job.id)?.abort.abort(new LeaseLostError(job.id));
  running.set(job.id, live);
  return live;
};

const attempt = async (
  { executors, log }: RunnerState,
  job: Job,
  context: ExecutorContext,
): Promise<JobOutcome> => {
  try {
    const executor = executors[job.kind];
    if (executor === undefined) throw new Error(`no executor for jobs of kind ${job.kind}`);
    const purpose = { operation: job.kind, jobId: job.id, soldPayment: null };
    return await withPurpose(purpose, () => executor(job, context));
  } catch (error) {
    // An attempt of this process, too, may have the job now.
    for (const reason of [error, context.signal.reason]) if (reason instanceof LeaseLostError) throw reason;
    // The lease expires, and the next process takes the job.
    if (context.signal.aborted && job.attempts < job.maxAttempts) throw context.signal.reason;
    log.error({ err: error, jobId: job.id, kind: job.kind }, 'a job failed by a fault of the service');
    return { status: 'failed', error: serverFault, metadata: {} };
  }
};

/**
 * Writes a job's end. After a store error the write may have happened, so it is repeated. The compare-and-set on the
 * state makes that safe: a terminal job was ended by an earlier try. Throws LeaseLostError.
 */
const end = async (
  { store, clock, log, owner, eventBodies = {}, onWebhook }: RunnerState,
  job: Job,
  outcome: Exclude<JobOutcome, { status: 'queued' }>,
): Promise<KnownJob> => {
  const { id, accountId } = job;
  const now = clock.now();
  const { status, result = null, metadata } = outcome;
  const error = outcome.status === 'done' ? null : outcome.error;
  const { charge, cost = null, media } = outcome.status === 'done' ? outcome : { charge: 0n, media: [] };
  const ended = {
    status,
    result: result === null ? null : isJsonObject(result) ? writeKept(result) : JSON.stringify(result),
    error,
    metadata: JSON.stringify(metadata),
    now,
  };
  const webhook = toWebhookEvent(
    endedJobRecord(job, ended, { ...job, charged: charge }),
    eventBodies[job.kind],
  );
  const written = {
    ...ended,
    id,
    accountId,
    owner,
    charge,
    cost,
    entryId: newId(),
    media: media.map(({ keepMs, ...medium }) => ({
      ...medium,
      accountId,
      jobId: id,
      expiresAt: now + keepMs,
    })),
    webhook,
    budgeted: job.isBudgeted ? job : null,
  };
  const write = async (): Promise<KnownJob> => {
    const finished = await store.finishJob(written);
    if (finished.outcome === 'finished')
      return {
        ...endedJobRecord(job, written, finished),
        available: finished.available,
        ...(isJsonObject(result) ? { made: result } : {}),
      };
    if (finished.job !== null && isTerminal(finished.job)) return finished.job;
    throw new LeaseLostError(id);
  };
  const finished = await outliveOutage(write, { what: 'writing the end of a job', jobId: id, log });
  if (webhook !== null) onWebhook?.();
  return finished;
};

/** Ends a dead job beside the heartbeat, which must not wait for a write that fails now. */
const endDead = async (state: RunnerState, job: Job): Promise<void> => {
  const { log, ending, lostErrors = {} } = state;
  const wasTaken = job.attempts > 0;
  const what = wasTaken ? 'a dead job is ended uncharged' : 'a job waited in vain, and is ended uncharged';
  log.warn({ jobId: job.id, kind: job.kind }, what);
  try {
    const error = wasTaken ? (lostErrors[job.kind] ?? serverFault) : unserved;
    await end(state, job, { status: 'failed', error, metadata: {} });
  } catch (error) {
    log.error({ err: error, jobId: job.id }, 'a dead job could not be ended; another process will try');
  } finally {
    ending.delete(job.id);
  }
};

/** The job stays under a lease of this process, which is renewed, until its end is written. */
const cancel = async (
  state: RunnerState,
  { id, accountId }: Pick<Job, 'id' | 'accountId'>,
): Promise<Job | null> => {
  const { store, leaseClock, owner, ending } = state;
  const job = await store.withdrawJob({ id, accountId, owner, leaseUntil: leaseClock.now() + leaseMs });
  if (job === null) return null;
  const ended = end(state, job, { status: 'failed', error: cancelled, metadata: {} });
  ending.set(id, ended);
  return ended.finally(() => ending.delete(id));
};

/** Aborts jobs, gives each time to write its end, and releases it, so that another process can take it at once. */
const cut = async (
  { store, leaseClock, log, owner, running }: RunnerState,
  isMeant: (job: RunningJob) => boolean,
  graceMs = lastWordsMs,
): Promise<void> => {
  const cutOne = async (id: string, { abort, finished }: RunningJob): Promise<void> => {
    abort.abort(new Error('the process is ending'));
    await Promise.race([Promise.allSettled([finished]), pause(graceMs)]);
    try {
      const released = await store.releaseJobs({ owner, ids: [id] });
      if (released.length === 0) await store.renewLeases({ owner, ids: [id], leaseUntil: leaseClock.now() });
    } catch (error) {
      log.warn({ err: error }, 'releasing a lease failed; it will expire');
    }
  };
  const meant = [...running].filter(([, job]) => isMeant(job));
  await Promise.all(meant.map(([id, job]) => cutOne(id, job)));
};

interface WaitInput {
  job: Job;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Awaits a job of this process. Polls for another one, more and more slowly. Ends early when `signal` aborts. */
const waitForJob = async (
  { store, running }: RunnerState,
  { job, timeoutMs, signal }: WaitInput,
): Promise<KnownJob> => {
  if (isTerminal(job) || timeoutMs <= 0) return job;
  const endsAt = performance.now() + timeoutMs;
  const live = running.get(job.id);
  const here = live && (await callWithin({ call: () => live.finished, timeoutMs, signal }).catch(() => null));
  if (here) return here;
  // The job runs elsewhere, was lost here, or is not finished in time: only the store knows its state.
  const read = () => store.getJob({ id: job.id, accountId: job.accountId });
  let latest = (await read()) ?? job;
  for (let waitMs = firstPollMs; !isTerminal(latest); waitMs = Math.min(waitMs * 1.5, slowestPollMs)) {
    const leftMs = endsAt - performance.now();
    if (leftMs <= 0 || signal.aborted) break;
    await pause(Math.min(waitMs, leftMs), signal);
    latest = (await read()) ?? latest;
  }
  return latest;
};
