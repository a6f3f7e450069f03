import { OutboundError, type OutboundFailure } from './outbound.ts';

/** The time that one call has for its place in the line, or from there to the last byte of its answer. */
export interface Deadline {
  /** Aborts with OutboundError `failure`, with `busy` when all calls end, or with the caller's reason. */
  readonly signal: AbortSignal;
  /** Ends the watch without an abort. */
  end(): void;
}

export const startDeadline = ({
  totalMs,
  failure,
  signals,
}: {
  totalMs: number;
  failure: Extract<OutboundFailure, 'timeout' | 'busy'>;
  signals: readonly AbortSignal[];
}): Deadline => {
  const over = new AbortController();
  const timer = setTimeout(
    () => abort(new OutboundError(failure, `The call took longer than ${totalMs} ms.`)),
    totalMs,
  );
  const stops = signals.map((source) => {
    const stop = (): void => abort(source.reason);
    source.addEventListener('abort', stop, { once: true });
    return () => source.removeEventListener('abort', stop);
  });
  const end = (): void => {
    clearTimeout(timer);
    for (const stop of stops) stop();
  };
  const abort = (reason: unknown): void => {
    end();
    over.abort(reason);
  };
  const aborted = signals.find((source) => source.aborted);
  if (aborted !== undefined) abort(aborted.reason);
  return { signal: over.signal, end };
};
