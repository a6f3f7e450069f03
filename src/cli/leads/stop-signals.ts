import { CommandError } from '../command-error.ts';

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A terminal and the process that started this one may send the same signal both. */
const echoMs = 1_000;

/**
 * While `work` goes on, a signal that would end the process aborts `work`'s signal in place of that, with CommandError
 * `stopped` for its reason. Another one, a second later or more, ends the process.
 */
export const stoppingAtSignals = async <T>(
  why: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const controller = new AbortController();
  let stoppedAt = 0;
  const stop = (signal: NodeJS.Signals): void => {
    if (!controller.signal.aborted) {
      stoppedAt = performance.now();
      controller.abort(new CommandError('stopped', why));
      return;
    }
    if (performance.now() - stoppedAt < echoMs) return;
    leave();
    process.kill(process.pid, signal);
  };
  const leave = (): void => {
    for (const name of stopSignals) process.off(name, stop);
  };
  for (const name of stopSignals) process.on(name, stop);
  try {
    return await work(controller.signal);
  } catch (error) {
    // Whatever broke off then broke off for that reason.
    throw controller.signal.aborted ? controller.signal.reason : error;
  } finally {
    leave();
  }
};
