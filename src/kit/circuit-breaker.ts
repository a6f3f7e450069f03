export interface CircuitBreaker {
  /** Whether a call may be made now. A `true` is to be followed by `succeeded`, `failed` or `abandoned`. */
  allows(): boolean;
  /** Closes the breaker. */
  succeeded(): void;
  failed(): void;
  /** The call ended without telling anything; where it was the one that may try, the next one may. */
  abandoned(): void;
}

export interface CircuitBreakerOptions {
  /** Failures in a row that open it. */
  maxFailures: number;
  /** How long no call is made. After that one call may try, and no other until it succeeded or as long again. */
  openMs: number;
  /** A clock that never goes back. */
  nowMs?: () => number;
}

/** Stops calls to something that does not answer, so that waiting for it is paid a few times and not by every call. */
export const createCircuitBreaker = ({
  maxFailures,
  openMs,
  nowMs = () => performance.now(),
}: CircuitBreakerOptions): CircuitBreaker => {
  let failures = 0;
  let nextTryMs = -Infinity;
  let isTrying = false;
  return {
    allows() {
      if (failures < maxFailures) return true;
      const now = nowMs();
      if (now < nextTryMs) return false;
      nextTryMs = now + openMs;
      isTrying = true;
      return true;
    },
    succeeded() {
      failures = 0;
      isTrying = false;
    },
    failed() {
      failures += 1;
      nextTryMs = nowMs() + openMs;
      isTrying = false;
    },
    abandoned() {
      if (isTrying) nextTryMs = -Infinity;
      isTrying = false;
    },
  };
};
