import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Step, StepResults } from './step.ts';

const longestStepMs = 6 * 3_600_000;

/**
 * Runs `step` in a new process and returns what it tells. Rejects when the process ends without a result, or when
 * `signal` aborts, which ends it.
 */
export const runStep = async <S extends Step>(
  step: S,
  { signal }: { signal: AbortSignal },
): Promise<StepResults[S['kind']]> => {
  signal.throwIfAborted();
  const child = fork(new URL('./worker.ts', import.meta.url), [JSON.stringify(step)], {
    signal: AbortSignal.any([signal, AbortSignal.timeout(longestStepMs)]),
    killSignal: 'SIGKILL',
  });
  let answer: { result: StepResults[S['kind']] } | null = null;
  child.on('message', (message) => {
    answer = message as { result: StepResults[S['kind']] };
  });
  const code = await endOf(child, signal);
  const given = answer as { result: StepResults[S['kind']] } | null;
  if (given === null || code !== 0)
    throw new Error(`The step "${step.kind}" of "${step.engine}" ended with code ${code} and no result.`);
  return given.result;
};

/** Its exit code; null when a signal ended it. */
const endOf = async (child: ChildProcess, signal: AbortSignal): Promise<number | null> => {
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return code;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
};
