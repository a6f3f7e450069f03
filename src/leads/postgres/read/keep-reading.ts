import type { Log } from '../../../kit/log.ts';
import { pause } from '../../../kit/repeat.ts';
import { openReader, type OpenReaderInput, type Reader } from './open-reader.ts';

export interface KeepReadingInput extends OpenReaderInput {
  /** The wait before the first new thread after a loss, doubled with every further one. */
  firstRetryMs: number;
  maxRetryMs: number;
  log: Log;
  signal: AbortSignal;
  /** Told of each reader that answers from now on, and with null when none does. */
  onReader: (reader: Reader | null) => void;
}

/** A reader that has lived so long starts the row of losses anew. */
const steadyAfterMs = 60_000;

/** Has a thread read until `signal` aborts, and replaces those that are lost. Never rejects. */
export const keepReading = async (input: KeepReadingInput): Promise<void> => {
  const { firstRetryMs, maxRetryMs, log, signal, onReader } = input;
  let losses = 0;
  while (!signal.aborted) {
    const startedMs = performance.now();
    const reader = openReader(input);
    onReader(reader);
    const end = await reader.ended;
    onReader(null);
    if (end.kind === 'closed') return;
    log.error({ err: end.cause }, 'the thread that searches the leads in PostgreSQL was lost');
    losses = performance.now() - startedMs > steadyAfterMs ? 1 : losses + 1;
    await pause(Math.min(maxRetryMs, firstRetryMs * 2 ** (losses - 1)), signal);
  }
};
