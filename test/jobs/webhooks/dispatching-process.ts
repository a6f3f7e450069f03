import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { TestStore } from '../../store/open-test-store.ts';

/** Starts test/jobs/webhooks/dispatching-child.ts on the data of `store`; it goes with the test. */
export const startDispatching = ({ kind, location }: Pick<TestStore, 'kind' | 'location'>): ChildProcess => {
  const script = fileURLToPath(new URL('./dispatching-child.ts', import.meta.url));
  const child = spawn(process.execPath, [script, kind, location], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
};
