import { fork } from 'node:child_process';
import { once } from 'node:events';
import { onCore, type Core } from './cores.ts';

/** A process that answers each message with one message. */
export interface AskedProcess {
  pid: number;
  /** Rejects when the process ends before it answers. */
  ask<Answer>(message: unknown): Promise<Answer>;
  stop(): Promise<void>;
}

/** Starts a file of `processes/` with Node on a core. */
export const startProcess = (name: 'upstream' | 'limit' | 'facilitator', core: Core): AskedProcess => {
  const [execPath, ...execArgv] = [...onCore(core), process.execPath];
  const child = fork(new URL(`./processes/${name}.ts`, import.meta.url), { execPath, execArgv });
  const exited = once(child, 'exit');
  const killWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithUs);
  return {
    pid: child.pid ?? 0,
    ask: async <Answer>(message: unknown): Promise<Answer> => {
      const answered = once(child, 'message');
      child.send(message as object);
      const ended = exited.then(() => {
        throw new Error(`The process "${name}" ended without an answer.`);
      });
      const [answer] = (await Promise.race([answered, ended])) as [Answer];
      return answer;
    },
    stop: async () => {
      process.removeListener('exit', killWithUs);
      child.kill('SIGKILL');
      await exited;
    },
  };
};
