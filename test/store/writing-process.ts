import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { TestStore } from './open-test-store.ts';

export interface WritingProcess {
  /** Lines such as `opened <job id>`, one an acknowledged write. */
  acknowledged: string[];
  /** Resolves when so many writes were acknowledged, or the process ended. */
  acknowledgedAtLeast(count: number): Promise<void>;
  kill(): void;
  /** Resolves with the exit code (null: killed) when all output was read. */
  ended: Promise<number | null>;
}

/** Starts test/store/kill-child.ts on the data of `store`. */
export const startWriting = (
  { kind, location }: Pick<TestStore, 'kind' | 'location'>,
  rounds: number,
): WritingProcess => {
  const script = fileURLToPath(new URL('./kill-child.ts', import.meta.url));
  const child = spawn(process.execPath, [script, kind, location, String(rounds)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const acknowledged: string[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => acknowledged.push(line));
  const ended = Promise.all([once(child, 'exit'), once(lines, 'close')]).then(() => child.exitCode);
  return {
    acknowledged,
    acknowledgedAtLeast: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (acknowledged.length >= count) resolve();
        };
        lines.on('line', check);
        lines.once('close', resolve);
        check();
      }),
    kill: () => {
      child.kill('SIGKILL');
    },
    ended,
  };
};
