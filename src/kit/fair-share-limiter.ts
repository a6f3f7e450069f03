/** The owners of one request, by kind. An undefined owner has no limit of its own. */
export type Owners<Kind extends string> = Readonly<Partial<Record<Kind, string | undefined>>>;

export interface AcquireOptions {
  /** Ends the wait, with its reason. */
  signal: AbortSignal;
  /** The slots that are asked for; default 1. A request for more than `total` waits until everything is free. */
  units?: number;
  /** Units that the same request holds already: they do not count against its owners. */
  heldUnits?: number;
}

/** Releases everything but `keptUnits`. A second call releases nothing twice. */
export type Release = (keptUnits?: number) => void;

/** Slots, or units of another kind, of which no owner gets more than its share. */
export interface FairShareLimiter<Kind extends string = 'owner'> {
  readonly free: number;
  /** Takes a slot if there is one now for these owners, null otherwise. */
  tryAcquire(owners: Owners<Kind>): Release | null;
  /**
   * Waits for its turn: first come, first served, except that a request that waits for its owner's share is overtaken.
   * Rejects with the signal's reason, or as `refusal` says when too many wait or the wait is too long.
   */
  acquire(owners: Owners<Kind>, options: AcquireOptions): Promise<Release>;
  /** Runs `work` while it holds what `acquire` gives. */
  run<Result>(owners: Owners<Kind>, options: AcquireOptions, work: () => Promise<Result>): Promise<Result>;
}

interface Shares<Kind extends string> {
  total: number;
  /** The most that one owner of each kind holds. Default: a quarter of `total` for each `owner`, and at least one. */
  perOwner?: Readonly<Record<Kind, number>>;
}

export interface FairShareLimiterOptions<Kind extends string> extends Shares<Kind> {
  /** The requests that may wait, with shares like those of the slots. Without it nothing waits. */
  queue?: Shares<Kind> & { longestWaitMs?: number; refusal?: () => Error };
}

/** Too many requests wait, in all or of one owner, or this one has waited too long. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';
}

interface Request {
  keys: readonly { key: string; limit: number }[];
  units: number;
  heldUnits: number;
}

interface Waiter extends Request {
  admit(): void;
}

export const createFairShareLimiter = <Kind extends string = 'owner'>({
  total,
  perOwner,
  queue,
}: FairShareLimiterOptions<Kind>): FairShareLimiter<Kind> => {
  const tally = createTally<Kind>({ total, perOwner });
  const waiting = new Set<Waiter>();
  const line = queue === undefined ? null : createFairShareLimiter<Kind>(queue);
  const refusal = queue?.refusal ?? (() => new QueueFullError('too many tasks are waiting for their turn'));

  const hold = (request: Request): Release => {
    tally.add(request, request.units);
    let left = request.units;
    return (keptUnits = 0) => {
      if (left <= keptUnits) return;
      tally.add(request, keptUnits - left);
      left = keptUnits;
      admitWaiting();
    };
  };

  /** A small request does not overtake a large one, which would otherwise wait for ever. */
  const admitWaiting = (): void => {
    for (const waiter of waiting) {
      if (!tally.isWithinShares(waiter)) continue;
      if (waiter.units > tally.free()) return;
      waiter.admit();
    }
  };

  const holdNow = (request: Request): Release | null => {
    if (total <= 0 || request.units > tally.free() || !tally.isWithinShares(request)) return null;
    return waiting.values().some(tally.isWithinShares) ? null : hold(request);
  };

  const acquire = async (owners: Owners<Kind>, options: AcquireOptions): Promise<Release> => {
    const { signal } = options;
    signal.throwIfAborted();
    const request = tally.toRequest(owners, options);
    const release = holdNow(request);
    if (release !== null) return release;
    const leaveLine = line?.tryAcquire(owners) ?? null;
    if (leaveLine === null) throw refusal();
    const turn = Promise.withResolvers<Release>();
    const fail = (error: unknown): void => {
      leave();
      turn.reject(error);
      admitWaiting();
    };
    const abort = (): void => fail(signal.reason);
    const { longestWaitMs } = queue ?? {};
    const timer = longestWaitMs === undefined ? null : setTimeout(() => fail(refusal()), longestWaitMs);
    const leave = (): void => {
      if (timer !== null) clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      waiting.delete(waiter);
      leaveLine();
    };
    const admit = (): void => {
      leave();
      turn.resolve(hold(request));
    };
    const waiter: Waiter = { ...request, admit };
    waiting.add(waiter);
    signal.addEventListener('abort', abort, { once: true });
    return turn.promise;
  };

  return {
    get free() {
      return tally.free();
    },
    tryAcquire: (owners) => holdNow(tally.toRequest(owners, {})),
    acquire,
    run: async (owners, options, work) => {
      const release = await acquire(owners, options);
      return Promise.try(work).finally(release);
    },
  };
};

/** Counts the units that are held, in all and by each owner. */
const createTally = <Kind extends string>({ total, perOwner }: Shares<Kind>) => {
  const limits: Readonly<Record<string, number>> = perOwner ?? { owner: Math.max(1, Math.floor(total / 4)) };
  const heldBy = new Map<string, number>();
  let free = total;
  return {
    free: (): number => free,
    toRequest: (
      owners: Owners<Kind>,
      { units = 1, heldUnits = 0 }: Pick<Partial<AcquireOptions>, 'units' | 'heldUnits'>,
    ): Request => ({
      keys: Object.entries<string | undefined>(owners).flatMap(([kind, owner]) =>
        owner === undefined ? [] : [{ key: `${kind} ${owner}`, limit: limits[kind] ?? Infinity }],
      ),
      units: Math.min(units, Math.max(total - heldUnits, 0)),
      heldUnits,
    }),
    add: ({ keys }: Request, units: number): void => {
      free -= units;
      for (const { key } of keys) {
        const held = (heldBy.get(key) ?? 0) + units;
        if (held === 0) heldBy.delete(key);
        else heldBy.set(key, held);
      }
    },
    /** A request may have any size if its owner holds nothing else. */
    isWithinShares: ({ keys, units, heldUnits }: Request): boolean =>
      keys.every(({ key, limit }) => {
        const held = heldBy.get(key) ?? 0;
        return held <= heldUnits || held + units <= limit;
      }),
  };
};
