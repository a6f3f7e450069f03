import type { Clock } from '../kit/clock.ts';
import type { Log } from '../kit/log.ts';
import { LeaseLostError, repeat, throttle } from '../kit/repeat.ts';
import type { Job, JobKind, Store } from '../store/store.ts';

/** A worker counts as dead this long after its last heartbeat. */
export const leaseMs = 30_000;
export const defaultBeatMs = leaseMs / 6;
const reapBatch = 100;
/** A clock that is further from the database's is told of. */
const maxSkewMs = 5_000;
/** Of the lanes of a kind. */
const accountShare = 0.75;

/** The clock of the database, which all gateways share, as far as the last heartbeat knows it. Leases end by it. */
export interface LeaseClock extends Clock {
  /** How far the clock of the process is ahead; below 0: behind. */
  aheadMs: number;
}

export interface JobQueueOptions {
  store: Store;
  clock: Clock;
  leaseClock: LeaseClock;
  log: Log;
  owner: string;
  /** Maximum number of queued jobs of each kind that run here at once. */
  lanes: readonly (readonly [JobKind, number])[];
  beatMs?: number;
  /** Dead jobs are searched only after the store has answered every heartbeat for this long. */
  settleMs?: number;
  running: ReadonlyMap<string, { abort: AbortController; lane: JobKind | null; accountId: string }>;
  /**
   * Returns the SKUs that an upstream takes now, and the providers that can be asked for what they have begun. Other jobs
   * stay queued; another process may claim them. Default: all.
   */
  runnable?: () => { skus: readonly string[]; providers: readonly string[] };
  /** Dead and cancelled jobs whose end is being written, by id. */
  ending: Map<string, Promise<unknown>>;
  /** Aborts when the process takes no more jobs. */
  draining: AbortSignal;
  launch(job: Job): void;
  /** Ends a dead job. Does not reject. */
  endDead(job: Job): Promise<void>;
}

/** Takes jobs of the store under leases, keeps the leases, and takes over jobs whose worker died. */
export const createJobQueue = (options: JobQueueOptions) => {
  const { log, draining, beatMs = defaultBeatMs } = options;
  let isClaiming = false;
  let isClaimWanted = false;
  let claiming: Promise<void> = Promise.resolve();

  const claimUntilFull = async (): Promise<void> => {
    let hasMore = true;
    while (hasMore && !draining.aborted) {
      isClaimWanted = false;
      hasMore = false;
      for (const [kind, limit] of options.lanes) hasMore = (await claimLane(options, kind, limit)) || hasMore;
      hasMore ||= isClaimWanted;
    }
  };

  const claim = (): void => {
    isClaimWanted = true;
    if (isClaiming || draining.aborted) return;
    isClaiming = true;
    claiming = claimUntilFull()
      .catch((error: unknown) => log.error({ err: error }, 'claiming queued jobs failed'))
      .then(() => {
        isClaiming = false;
        if (isClaimWanted) claim();
      });
  };

  return {
    /** Claims queued jobs until all lanes are full. */
    claim,
    claimed: (): Promise<void> => claiming,
    /** Renews the leases of this process, and claims now and then, until `ended` aborts. */
    begin: (ended: AbortSignal): void => {
      const beat = createHeartbeat(options, claim);
      const work = (): Promise<void> => beat().finally(claim);
      void repeat({ what: 'renewing leases', intervalMs: beatMs, signal: ended, log, work });
    },
  };
};

const claimLane = async (
  { store, clock, leaseClock, owner, running, runnable, launch }: JobQueueOptions,
  kind: JobKind,
  lanes: number,
): Promise<boolean> => {
  const taken = [...running.values()].filter(({ lane }) => lane === kind);
  const room = lanes - taken.length;
  if (room <= 0) return false;
  // Turns order the queue alone: slow jobs of one account would else hold all lanes.
  const share = Math.max(1, Math.floor(lanes * accountShare));
  const left = [...Map.groupBy(taken, ({ accountId }) => accountId)].map(
    ([accountId, jobs]) => [accountId, share - jobs.length] as const,
  );
  const fullAccounts = left.flatMap(([accountId, count]) => (count > 0 ? [] : accountId));
  // All claimed jobs may be of the account that has the most already.
  const limit = Math.min(room, share, ...left.flatMap(([, count]) => (count > 0 ? count : [])));
  const jobs = await store.claimJobs({
    owner,
    kind,
    limit,
    leaseUntil: leaseClock.now() + leaseMs,
    now: clock.now(),
    fullAccounts,
    ...runnable?.(),
  });
  for (const job of jobs) launch(job);
  return jobs.length === limit;
};

/**
 * Renews before it reaps, so that a process that was paused for long first renews its own jobs. After an outage of the
 * store, or a pause of the machine, all leases may have expired. Then every living worker gets time to renew before any
 * job counts as dead.
 */
const createHeartbeat = (options: JobQueueOptions, claim: () => void): (() => Promise<void>) => {
  const { store, clock, leaseClock, log, ending, draining, settleMs = leaseMs / 2 } = options;
  const warn = throttle(600_000, (aheadMs: number) =>
    log.warn({ aheadMs }, 'the clock is not that of the database; set it'),
  );
  /** Start of the time in which the store has answered every heartbeat; null at first and after a failed one. */
  let answersSince: number | null = null;
  let lastBeatAt = -Infinity;
  return async () => {
    // Of before the renewal, after which no lease of this process ends until then, however long it took.
    const now = clock.now();
    try {
      await renew(options);
      leaseClock.aheadMs = await store.ping();
    } catch (error) {
      answersSince = null;
      throw error;
    }
    if (now - lastBeatAt > leaseMs / 2) answersSince = null;
    lastBeatAt = now;
    answersSince ??= performance.now();
    const isSettled = performance.now() - answersSince >= settleMs;
    const { aheadMs } = leaseClock;
    if (Math.abs(aheadMs) > maxSkewMs) warn(aheadMs);
    if (isSettled && ending.size < reapBatch && !draining.aborted)
      await reap(options, { now: now - aheadMs, claim });
  };
};

const renew = async ({ store, leaseClock, owner, running, ending }: JobQueueOptions): Promise<void> => {
  const ids = [...running.keys(), ...ending.keys()];
  if (ids.length === 0) return;
  const held = new Set(await store.renewLeases({ owner, ids, leaseUntil: leaseClock.now() + leaseMs }));
  for (const id of ids) if (!held.has(id)) running.get(id)?.abort.abort(new LeaseLostError(id));
};

const reap = async (
  { store, owner, ending, endDead }: JobQueueOptions,
  { now, claim }: { now: number; claim: () => void },
): Promise<void> => {
  const limit = reapBatch - ending.size;
  const { requeued, doomed } = await store.reapJobs({ owner, leaseUntil: now + leaseMs, now, limit });
  if (requeued.length > 0) claim();
  for (const job of doomed) ending.set(job.id, endDead(job));
};
