import { OutboundError } from './outbound.ts';

/** Places for calls that may run at once, with a line of limited length before them. */
export interface Slots {
  /**
   * Waits for a place and answers the way to give it back (more than once does no harm). Throws OutboundError `busy`
   * when the line is full, or the signal's reason.
   */
  take(signal: AbortSignal): Promise<() => void>;
}

export const createSlots = ({ atOnce, waiting }: { atOnce: number; waiting: number }): Slots => {
  const line = new Set<() => void>();
  let taken = 0;

  const occupy = (): (() => void) => {
    let isHeld = true;
    taken += 1;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      taken -= 1;
      const [next] = line;
      next?.();
    };
  };

  return {
    take: (signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        if (taken < atOnce) {
          resolve(occupy());
          return;
        }
        if (line.size >= waiting) throw new OutboundError('busy', 'Too many outbound calls are waiting.');
        const leave = (): void => {
          line.delete(enter);
          signal.removeEventListener('abort', abort);
        };
        const enter = (): void => {
          leave();
          resolve(occupy());
        };
        const abort = (): void => {
          leave();
          reject(signal.reason);
        };
        line.add(enter);
        signal.addEventListener('abort', abort, { once: true });
      }),
  };
};
