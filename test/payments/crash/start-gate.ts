import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { GateAnswer, GateCommand, GateSettings } from './gate-commands.ts';

/** A gate with a handle of its own on a store. */
export interface Gate {
  /** Rejects when the gate ends in place of an answer. */
  ask(command: GateCommand): Promise<GateAnswer>;
  /** Resolves when the gate has died at the step that the command names; rejects when it answered or ended otherwise. */
  dieOf(command: GateCommand): Promise<void>;
  end(): Promise<void>;
}

/** A gate in a process of its own: see gate-process.ts. */
export interface GateChild extends Gate {
  /** Kills the process when that time has come, whatever it is doing; true when it died before it answered. */
  killDuring(command: GateCommand, isTime: () => Promise<void>): Promise<boolean>;
}

const program = fileURLToPath(new URL('./gate-process.ts', import.meta.url));
const answerTimeoutMs = 60_000;
const stopTimeoutMs = 5_000;

/** What the child says next, or how it ended. */
const nextOf = async (child: ChildProcess): Promise<{ said: GateAnswer } | { signal: string | null }> => {
  const finished = new AbortController();
  const signal = AbortSignal.any([finished.signal, AbortSignal.timeout(answerTimeoutMs)]);
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(([said]: GateAnswer[]) => {
        if (said === undefined) throw new Error('the gate process said nothing');
        return { said };
      }),
      once(child, 'exit', { signal }).then(() => ({ signal: child.signalCode })),
    ]);
  } finally {
    finished.abort();
  }
};

export const startGate = (settings: GateSettings): GateChild => {
  const child = fork(program, [JSON.stringify(settings)], {
    execArgv: [],
    serialization: 'advanced',
  });
  const killWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithUs);
  child.once('exit', () => process.removeListener('exit', killWithUs));

  const tell = (command: GateCommand) => {
    const next = nextOf(child);
    child.send(command);
    return next;
  };
  return {
    ask: async (command) => {
      const next = await tell(command);
      if ('said' in next) return next.said;
      throw new Error(`the gate process ended (${next.signal ?? child.exitCode}) in place of an answer`);
    },
    dieOf: async (command) => {
      const next = await tell(command);
      if ('said' in next) throw new Error(`the gate process lives on: ${JSON.stringify(next.said)}`);
      if (next.signal !== 'SIGKILL') throw new Error(`the gate process ended with ${child.exitCode}`);
    },
    killDuring: async (command, isTime) => {
      const next = tell(command);
      await isTime();
      child.kill('SIGKILL');
      return !('said' in (await next));
    },
    end: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      // Of its own accord, so that it leaves what it compiled behind.
      child.disconnect();
      const impatience = setTimeout(killWithUs, stopTimeoutMs);
      await exited;
      clearTimeout(impatience);
    },
  };
};
