import type { Clock } from '../kit/clock.ts';

/** Outcomes remembered, how many there must be, and what share of failures is too much. */
const ring = { size: 64, leastOutcomes: 10, openShare: 0.5 };
const shortestOpenMs = 10_000;
const longestOpenMs = 300_000;
const longestCooldownMs = 60_000;

/**
 * Keeps calls away from one provider's model that fails: open after half of at least ten of the last 64
 * outcomes failed, for 10 s; then one call probes, and each failed probe doubles the time, up to 5 min. A rate
 * limit is a cooldown, no failure.
 */
export interface Breaker {
  /** Leave for one call, whose outcome must be told; null while none may be made. */
  enter(): BreakerPass | null;
  /** How long until a call may be made, by now's knowledge: 0 when one may. */
  restMs(): number;
}

/** One call. It may succeed (it began to answer) and later fail; what is told twice is counted twice. */
export interface BreakerPass {
  succeeded(): void;
  failed(): void;
  /** It ended without saying anything about the upstream: aborted, or the request's own fault. */
  released(): void;
  /** The upstream wants no calls for this long. */
  coolDown(ms: number): void;
}

export const createBreaker = (clock: Clock): Breaker => {
  let outcomes: boolean[] = [];
  let openMs = shortestOpenMs;
  let state: 'closed' | 'open' | 'probing' = 'closed';
  let restUntil = 0;
  /** Calls of an earlier state come too late to count. */
  let era = 0;

  const moveTo = (next: typeof state): void => {
    state = next;
    era += 1;
  };

  const open = (forMs: number): void => {
    openMs = forMs;
    restUntil = Math.max(restUntil, clock.now() + forMs);
    moveTo('open');
  };

  const record = (isFailure: boolean): void => {
    outcomes.push(isFailure);
    if (outcomes.length > ring.size) outcomes.shift();
    const failures = outcomes.filter(Boolean).length;
    if (outcomes.length >= ring.leastOutcomes && failures >= outcomes.length * ring.openShare)
      open(shortestOpenMs);
  };

  const close = (): void => {
    outcomes = [];
    openMs = shortestOpenMs;
    moveTo('closed');
  };

  const createPass = (passEra: number): BreakerPass => {
    const isCurrent = (): boolean => era === passEra;
    return {
      succeeded: () => {
        if (!isCurrent()) return;
        if (state === 'probing') close();
        else record(false);
      },
      failed: () => {
        if (!isCurrent()) return;
        if (state === 'probing') open(Math.min(openMs * 2, longestOpenMs));
        else record(true);
      },
      released: () => {
        if (isCurrent() && state === 'probing') moveTo('open');
      },
      coolDown: (ms) => {
        restUntil = Math.max(restUntil, clock.now() + Math.min(ms, longestCooldownMs));
        if (isCurrent() && state === 'probing') moveTo('open');
      },
    };
  };

  return {
    enter: () => {
      if (state === 'probing' || clock.now() < restUntil) return null;
      if (state === 'open') moveTo('probing');
      return createPass(era);
    },
    // While another call probes, its end cannot be known; a second is as good a guess as any.
    restMs: () => (state === 'probing' ? 1_000 : Math.max(0, restUntil - clock.now())),
  };
};
