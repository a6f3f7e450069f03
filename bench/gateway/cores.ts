import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

const taskset = (...args: string[]): boolean => spawnSync('taskset', args).status === 0;

/** The gateway, and whatever is the limit of its work, has a core of its own. Client and upstream share the other. */
const cores = { gateway: '1', client: '0' };
export type Core = keyof typeof cores;

const canPin = availableParallelism() >= 2 && taskset('-p', String(process.pid));

/** Words before a command that put its process on a core. Empty where nothing can be pinned. */
export const onCore = (core: Core): string[] => (canPin ? ['taskset', '-c', cores[core]] : []);

/** Puts this process, which is the client, on its core. */
export const pinClient = (): boolean =>
  canPin && taskset('-a', '-c', '-p', cores.client, String(process.pid));
