/**
 * The events of a running job, for any number of readers in the same process. Each reader starts at the first event.
 * The events are kept only while the job runs; its executor limits their size.
 */
export interface JobFeed<Event> {
  emit(event: Event): void;
  /** Ends the feed. Readers end after the last event. */
  end(): void;
  /** Resolves at the first event, at the end, or after `timeoutMs`. */
  started(timeoutMs: number): Promise<void>;
  /** Yields all events from the first, then live ones. Ends with the feed, or when `signal` aborts. */
  read(signal: AbortSignal): AsyncGenerator<Event, void, void>;
}

export const createJobFeed = <Event>(): JobFeed<Event> => {
  const events: Event[] = [];
  const waiting = new Set<() => void>();
  let isEnded = false;

  const wake = (): void => {
    for (const resume of waiting) resume();
    waiting.clear();
  };

  const changed = (signal?: AbortSignal, timeoutMs?: number): Promise<void> =>
    new Promise((resolve) => {
      const resume = (): void => {
        waiting.delete(resume);
        clearTimeout(timer);
        signal?.removeEventListener('abort', resume);
        resolve();
      };
      const timer = timeoutMs === undefined ? undefined : setTimeout(resume, timeoutMs);
      waiting.add(resume);
      signal?.addEventListener('abort', resume, { once: true });
    });

  return {
    emit: (event) => {
      events.push(event);
      wake();
    },
    end: () => {
      isEnded = true;
      wake();
    },
    started: async (timeoutMs) => {
      if (events.length === 0 && !isEnded) await changed(undefined, timeoutMs);
    },
    async *read(signal) {
      for (let position = 0; ; position += 1) {
        while (position >= events.length) {
          if (isEnded || signal.aborted) return;
          await changed(signal);
        }
        const event = events[position];
        if (event === undefined || signal.aborted) return;
        yield event;
      }
    },
  };
};
