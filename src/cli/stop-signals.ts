import { onStopSignals } from '../kit/process.ts';
import { CommandError } from './command-error.ts';

/** A terminal and the parent process may send the same signal both. */
const echoMs = 1_000;

/**
 * Runs `work` with a signal that aborts, with CommandError `stopped`, in place of a signal that would end the process. A
 * second such signal, a second or more later, ends the process.
 */
export const stoppingAtSignals = async <T>(
  message: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const controller = new AbortController();
  let stoppedAt = 0;
  const release = onStopSignals((signal) => {
    if (!controller.signal.aborted) {
      stoppedAt = performance.now();
      controller.abort(new CommandError('stopped', message));
    } else if (performance.now() - stoppedAt >= echoMs) {
      release();
      process.kill(process.pid, signal);
    }
  });
  try {
    return await work(controller.signal);
  } catch (error) {
    // An error after the abort follows from it.
    throw controller.signal.aborted ? controller.signal.reason : error;
  } finally {
    release();
  }
};
