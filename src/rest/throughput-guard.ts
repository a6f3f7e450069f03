export interface ThroughputGuardOptions {
  /** How long a reader may keep bytes waiting that are there for it. */
  longestMs: number;
  /** What it takes gives time back at this rate, up to `longestMs`. */
  leastBytesPerSecond: number;
  /** Called when it kept them waiting for longer. */
  onOver: () => void;
}

/**
 * Watches that a reader takes bytes at a least rate, averaged over `longestMs`. Only the time in which it keeps bytes
 * waiting counts: that of the bytes' source is not its own.
 */
export interface ThroughputGuard {
  /** Bytes are there for it. */
  begin(): void;
  /** It took so many. */
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
      // Where the event loop is busy, a reader that takes a little again and again would always come before the timer.
      if (leftMs <= 0) onOver();
    },
    end: () => clearTimeout(timer),
  };
};
