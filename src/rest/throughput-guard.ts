export interface ThroughputGuardOptions {
  /** How long a reader may let available bytes wait. */
  longestMs: number;
  /** The bytes it takes give time back at this rate, up to `longestMs`. */
  leastBytesPerSecond: number;
  /** Called when the reader is too slow. */
  onOver: () => void;
}

/**
 * Checks that a reader takes bytes at a minimum rate, averaged over `longestMs`. Only the time in which bytes wait for
 * the reader counts, not the time of the bytes' source.
 */
export interface ThroughputGuard {
  /** Bytes are available. */
  begin(): void;
  /** The reader took these bytes. */
  took(bytes: number): void;
  end(): void;
}

export const createThroughputGuard = ({
  longestMs,
  leastBytesPerSecond,
  onOver,
}: ThroughputGuardOptions): ThroughputGuard => {
  let leftMs = longestMs;
  let begunAt = 0;
  let timer: NodeJS.Timeout | undefined;
  return {
    begin: () => {
      begunAt = performance.now();
      timer = setTimeout(onOver, leftMs);
    },
    took: (bytes) => {
      clearTimeout(timer);
      const spentMs = performance.now() - begunAt;
      leftMs = Math.min(longestMs, leftMs - spentMs + (bytes / leastBytesPerSecond) * 1000);
      // If the event loop is busy, the timer may always come after a reader that takes a little again and again.
      if (leftMs <= 0) onOver();
    },
    end: () => clearTimeout(timer),
  };
};
