import { expect, it } from 'vitest';
import { stoppingAtSignals } from '../../../src/cli/leads/import-command.ts';

const listenersNow = (): number =>
  ['SIGINT', 'SIGTERM', 'SIGHUP'].reduce((sum, name) => sum + process.listenerCount(name), 0);

/** Work that goes on until its signal says otherwise. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(new Error('the work broke off')), { once: true }),
  );

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s stops the work and not the process', async (name) => {
  const before = listenersNow();
  const stopped = stoppingAtSignals('Stopped.', untilAborted);
  process.emit(name, name);
  // The same signal may come from a terminal and from the process above both.
  process.emit(name, name);
  await expect(stopped).rejects.toMatchObject({ code: 'stopped', message: 'Stopped.', exitCode: 1 });
  expect(listenersNow()).toBe(before);
});

it('work that ends or fails by itself does so as it is, and leaves no listener', async () => {
  const before = listenersNow();
  await expect(stoppingAtSignals('Stopped.', async () => 7)).resolves.toBe(7);
  const failing = stoppingAtSignals('Stopped.', () => Promise.reject(new Error('the work failed')));
  await expect(failing).rejects.toThrow('the work failed');
  expect(listenersNow()).toBe(before);
});
