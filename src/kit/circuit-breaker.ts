/** Which of the last outcomes open the breaker. */
export interface OpensAfter {
  outcomes: number;
  leastOutcomes: number;
  failedShare: number;
}

/** Opens after so many failures without a success between them. */
export const failuresInARow = (count: number): OpensAfter => ({
  outcomes: count,
  leastOutcomes: count,
  failedShare: 1,
});

export interface CircuitBreakerOptions {
  opensAfter: OpensAfter;
  /** How long no call is made. After that one call probes, which closes the breaker or opens it again. */
  openMs: number;
  /** Each failed probe doubles the time up to this. By default it stays `openMs`. */
  longestOpenMs?: number;
  /** How long a probe may take before another call probes. By default as long as it wants. */
  probeMs?: number;
  /** By default a clock that never goes back. */
  nowMs?: () => number;
}

/** Stops calls to something that fails, so that its failures are waited for a few times and not by every call. */
export interface CircuitBreaker {
  /** Lets one call in. Its outcome must be reported to the pass. Returns null while no call may be made. */
  enter(): BreakerPass | null;
  /** Milliseconds until a call may be made, as far as is known now: 0 when one may. */
  restMs(): number;
  /** `open`: calls are not made, or one is due that probes. `probing`: that call is under way. */
  state(): 'closed' | 'open' | 'probing';
  /** A call succeeded, whenever it began: closes the breaker. */
  succeeded(): void;
  /** A call failed, whenever it began. */
  failed(): void;
}

/** Counts only in the state in which the call began. A call may succeed (begin to answer), and fail later. */
export interface BreakerPass {
  succeeded(): void;
  failed(): void;
  /** The call ended without an outcome: it was aborted, or the request itself was at fault. */
  released(): void;
  /** The other side wants no calls for so long, a minute at most. */
  coolDown(ms: number): void;
}

const longestCooldownMs = 60_000;
/** How long to wait while another call probes. Its end cannot be known. */
const restWhileProbingMs = 1_000;

const isFailing = (failures: readonly boolean[], { leastOutcomes, failedShare }: OpensAfter): boolean =>
  failures.length >= leastOutcomes && failures.filter(Boolean).length >= failures.length * failedShare;

export const createCircuitBreaker = ({
  opensAfter,
  openMs: shortestOpenMs,
  longestOpenMs = shortestOpenMs,
  probeMs = Infinity,
  nowMs = () => performance.now(),
}: CircuitBreakerOptions): CircuitBreaker => {
  let outcomes: boolean[] = [];
  let openMs = shortestOpenMs;
  let state: 'closed' | 'open' | 'probing' = 'closed';
  let restUntil = -Infinity;
  let probeUntil = -Infinity;
  /** Grows with each change of state. */
  let era = 0;

  const moveTo = (next: typeof state): void => {
    state = next;
    era += 1;
  };

  const open = (forMs: number): void => {
    openMs = forMs;
    restUntil = Math.max(restUntil, nowMs() + forMs);
    moveTo('open');
  };

  const record = (isFailure: boolean): void => {
    outcomes = [...outcomes, isFailure].slice(-opensAfter.outcomes);
    if (isFailing(outcomes, opensAfter)) open(shortestOpenMs);
  };

  const succeeded = (): void => {
    if (state === 'closed') return record(false);
    if (state === 'open') restUntil = -Infinity;
    outcomes = [];
    openMs = shortestOpenMs;
    moveTo('closed');
  };

  const failed = (): void => {
    if (state === 'closed') record(true);
    else open(state === 'probing' ? Math.min(openMs * 2, longestOpenMs) : openMs);
  };

  const createPass = (passEra: number): BreakerPass => {
    const ifCurrent = (act: () => void) => (): void => {
      if (era === passEra) act();
    };
    const released = ifCurrent(() => {
      if (state === 'probing') moveTo('open');
    });
    return {
      succeeded: ifCurrent(succeeded),
      failed: ifCurrent(failed),
      released,
      coolDown: (ms) => {
        restUntil = Math.max(restUntil, nowMs() + Math.min(ms, longestCooldownMs));
        released();
      },
    };
  };

  return {
    enter: () => {
      const now = nowMs();
      if (now < (state === 'probing' ? probeUntil : restUntil)) return null;
      if (state !== 'closed') {
        probeUntil = now + probeMs;
        // A probe that another one follows still counts: it may succeed later than `probeMs`.
        if (state !== 'probing') moveTo('probing');
      }
      return createPass(era);
    },
    state: () => state,
    restMs: () => (state === 'probing' ? restWhileProbingMs : Math.max(0, restUntil - nowMs())),
    succeeded,
    failed,
  };
};
