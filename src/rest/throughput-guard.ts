export interface ThroughputGuardOptions {
  /** How long a reader may let available bytes wait. */
  longestMs: number;
  /** The bytes it takes give time back at this rate, up to `longestMs`. */
  leastBytesPerSecond: number;
  /** Called when the reader is too slow. */
  onOver: () => void;
}

export type ThroughputGuard = ReturnType<typeof createThroughputGuard>;

/**
 * Checks that a reader takes bytes at a minimum rate, averaged over `longestMs`. Only the time in which bytes wait for
 * the reader counts, not the time of the bytes' source.
 */
export const createThroughputGuard = ({ longestMs, leastBytesPerSecond, onOver }: ThroughputGuardOptions) => {
  let leftMs = longestMs;
  let begunAt = 0;
  let timer: NodeJS.Timeout | undefined;
  return {
    /** Bytes are available. */
    begin: (): void => {
      begunAt = performance.now();
      timer = setTimeout(onOver, leftMs);
    },
    /** The reader took these bytes. */
    took: (bytes: number): void => {
      clearTimeout(timer);
      const spentMs = performance.now() - begunAt;
      leftMs = Math.min(longestMs, leftMs - spentMs + (bytes / leastBytesPerSecond) * 1000);
      // If the event loop is busy, the timer may always come after a reader that takes a little again and again.
      if (leftMs <= 0) onOver();
    },
    end: (): void => clearTimeout(timer),
  };
};
