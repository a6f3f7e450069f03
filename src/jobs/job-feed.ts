/** So many events are written together at most, so that no reader needs much memory, or time for one piece. */
const atOnce = 256;

export type JobFeed<Event> = ReturnType<typeof createJobFeed<Event>>;

/**
 * Makes the events of a running job, for any number of readers in the same process. Each reader starts at the first event.
 * The events are kept only while the job runs; its executor limits their size.
 */
export const createJobFeed = <Event>() => {
  const events: Event[] = [];
  let isEnded = false;
  let change = Promise.withResolvers<void>();

  const wake = (): void => {
    change.resolve();
    change = Promise.withResolvers();
  };

  return {
    emit: (event: Event): void => {
      events.push(event);
      wake();
    },
    /** Ends the feed. Readers end after the last event. */
    end: (): void => {
      isEnded = true;
      wake();
    },
    /** Resolves at the first event, at the end, or after `timeoutMs`. */
    started: async (timeoutMs: number): Promise<void> => {
      if (events.length > 0 || isEnded) return;
      const late = Promise.withResolvers<true>();
      const timer = setTimeout(late.resolve, timeoutMs, true);
      while (events.length === 0 && !isEnded)
        if ((await Promise.race([change.promise, late.promise])) === true) break;
      clearTimeout(timer);
    },
    /**
     * Hands over all events from the first, then live ones: at a time as many as were emitted in one turn. Waits for the
     * promise that `take` returns, if any. Resolves when the feed ends, or when `signal` aborts.
     */
    read: async (
      signal: AbortSignal,
      take: (events: Event[]) => Promise<void> | undefined,
    ): Promise<void> => {
      signal.addEventListener('abort', wake);
      try {
        for (let position = 0; !signal.aborted;) {
          const due = events.slice(position, position + atOnce);
          position += due.length;
          if (due.length > 0) {
            const room = take(due);
            if (room !== undefined) await room;
          } else if (isEnded) return;
          else await change.promise;
        }
      } finally {
        signal.removeEventListener('abort', wake);
      }
    },
  };
};
