import { fork } from 'node:child_process';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../../kit/log.ts';
import { buildingMark, newId } from '../lead-folder.ts';
import type { SyntheticSet } from '../synthetic-set.ts';

export interface BuildRequest {
  folder: string;
  /** A temporary folder in it that belongs to this build alone. */
  scratch: string;
  synthetic: SyntheticSet;
}

/** Left-over files without a write for this long belong to a killed build. */
const abandonedAfterMs = 60_000;
/** Enough for the most fictional profiles that the settings allow. */
const maxHeapMb = 4_096;

/** `profiles` is null if real ones have appeared. */
export type BuildOutcome = { profiles: number | null } | { failure: string };

interface BuildLimits {
  timeoutMs: number;
  signal: AbortSignal;
}

/** Makes fictional profiles. Rejects if that fails, exceeds `timeoutMs`, or is aborted; then it leaves no files. */
export const runBuild = async ({
  folder,
  synthetic,
  log,
  ...limits
}: Omit<BuildRequest, 'scratch'> & BuildLimits & { log: Log }): Promise<void> => {
  await removeAbandoned(folder);
  const scratch = join(folder, `${buildingMark}${newId()}`);
  await mkdir(scratch);
  const startedMs = performance.now();
  try {
    const profiles = await buildInProcess({ folder, scratch, synthetic }, limits);
    if (profiles !== null)
      log.info({ folder, profiles, tookMs: Math.round(performance.now() - startedMs) }, 'lead index built');
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
};

/** Builds in a process of its own. Its end frees its memory, of which a thread would leave much to the gateway. */
const buildInProcess = async (
  request: BuildRequest,
  { timeoutMs, signal }: BuildLimits,
): Promise<number | null> => {
  signal.throwIfAborted();
  const builder = fork(new URL('./worker.ts', import.meta.url), {
    execArgv: [`--max-old-space-size=${maxHeapMb}`],
    env: {},
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    signal,
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  const ended = Promise.withResolvers<BuildOutcome>();
  let told: BuildOutcome | null = null;
  builder.on('message', (outcome: BuildOutcome) => {
    told = outcome;
  });
  builder.on('exit', (code, killedBy) =>
    ended.resolve(told ?? { failure: `its process ended with ${killedBy ?? code}` }),
  );
  builder.on('error', (error) => {
    // A process that never started has no exit event.
    if (builder.pid === undefined) ended.resolve({ failure: error.message });
  });
  builder.send(request, () => {});
  const outcome = await ended.promise;
  signal.throwIfAborted();
  if ('failure' in outcome) throw new Error(`the fictional profiles were not made: ${outcome.failure}`);
  return outcome.profiles;
};

const removeAbandoned = async (folder: string): Promise<void> => {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(buildingMark)) continue;
    const path = join(folder, name);
    if (Date.now() - (await lastTouchedMs(path)) > abandonedAfterMs)
      await rm(path, { recursive: true, force: true });
  }
};

/** Returns the latest change of the folder or a file in it; Infinity if it is removed meanwhile. */
const lastTouchedMs = async (folder: string): Promise<number> => {
  const names = await readdir(folder).catch(() => []);
  const found = await Promise.all(
    [folder, ...names.map((name) => join(folder, name))].map((path) => stat(path).catch(() => null)),
  );
  return Math.max(...found.map((stats) => stats?.mtimeMs ?? Infinity));
};
