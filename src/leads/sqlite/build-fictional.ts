import { fork } from 'node:child_process';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ignoreEnoent } from '../../kit/files.ts';
import type { Log } from '../../kit/log.ts';
import { foldingVersion } from '../query/fold-text.ts';
import { generatorVersion } from '../synthetic/generate-leads.ts';
import { fileFormat } from './profiles-file.ts';
import { newId } from './profiles-folder.ts';

/** Determines the fictional profiles. */
export interface FictionalSet {
  seed: number;
  profiles: number;
}

/** Returns everything that the file of this set depends on, for its manifest. */
export const fictionalSource = ({ seed, profiles }: FictionalSet): string =>
  `generator ${generatorVersion}, seed ${seed}, ${profiles} profiles; format ${fileFormat}, folding ${foldingVersion}`;

export interface BuildRequest {
  folder: string;
  /** The path of the file while it is being written. */
  unfinished: string;
  set: FictionalSet;
}

/** An unfinished file without a write for this long belongs to a killed build. */
const abandonedAfterMs = 60_000;
/** Enough for the most fictional profiles that the settings allow. */
const maxHeapMb = 4_096;
const timeoutMs = 3_600_000;
const unfinishedMark = 'building-';

/** `profiles` is null if real ones have appeared. */
export type BuildOutcome = { profiles: number | null } | { failure: string };

/** Makes fictional profiles current in `folder`. Rejects if that fails or is aborted; then it leaves no file. */
export const buildFictional = async (
  folder: string,
  { set, log, signal }: { set: FictionalSet; log: Log; signal: AbortSignal },
): Promise<void> => {
  await removeAbandoned(folder);
  const unfinished = join(folder, `${unfinishedMark}${newId()}.db`);
  const startedMs = performance.now();
  try {
    const profiles = await buildInProcess({ folder, unfinished, set }, signal);
    if (profiles !== null)
      log.info({ folder, profiles, tookMs: Math.round(performance.now() - startedMs) }, 'lead index built');
  } finally {
    // A process that was ended may leave SQLite's journal.
    for (const end of ['', '-journal']) await rm(unfinished + end, { force: true });
  }
};

/** Builds in a process of its own. Its end frees its memory, of which a thread would leave much to the gateway. */
const buildInProcess = async (request: BuildRequest, signal: AbortSignal): Promise<number | null> => {
  signal.throwIfAborted();
  const builder = fork(new URL('./build-process.ts', import.meta.url), {
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
    if (!name.startsWith(unfinishedMark)) continue;
    const path = join(folder, name);
    const found = await ignoreEnoent(stat(path));
    if (found !== null && Date.now() - found.mtimeMs > abandonedAfterMs) await rm(path, { force: true });
  }
};
