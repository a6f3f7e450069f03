import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Log } from '../../../kit/log.ts';
import { connectThread } from '../../../kit/threads/connect-thread.ts';
import { ThreadError } from '../../../kit/threads/thread-error.ts';
import { unlessAborted } from '../../../kit/unless-aborted.ts';
import { buildingMark, newId, refoldingMark } from '../lead-folder.ts';
import type { SyntheticSet } from '../synthetic-set.ts';

export interface BuildRequest {
  /** The folder for the index. */
  folder: string;
  /** A temporary folder in it that belongs to this build alone; it already exists only for `invent`. */
  scratch: string;
  job: BuildJob;
}

/** Makes fictional profiles, or rewrites the real ones, folded by this version of Unicode. */
export type BuildJob = { kind: 'invent'; synthetic: SyntheticSet } | { kind: 'refold' };

export type BuildMessage =
  | { kind: 'built'; profiles: number; tookMs: number }
  /** Nothing was changed, because other profiles are there, or these are already folded. */
  | { kind: 'unneeded' };

export interface RunBuildInput {
  folder: string;
  job: BuildJob;
  timeoutMs: number;
  signal: AbortSignal;
  log: Log;
}

/** Left-over files without a write for this long belong to a killed build. */
const abandonedAfterMs = 60_000;

/** Runs `job` in a worker thread. Rejects if it fails, exceeds `timeoutMs`, or is aborted; then it leaves no files. */
export const runBuild = async ({ folder, job, timeoutMs, signal, log }: RunBuildInput): Promise<void> => {
  await removeAbandoned(folder);
  const isRefold = job.kind === 'refold';
  const scratch = join(folder, `${isRefold ? refoldingMark : buildingMark}${newId()}`);
  if (!isRefold) await mkdir(scratch);
  try {
    const outcome = await runWorker({ folder, scratch, job }, { timeoutMs, signal });
    if (outcome.kind === 'built')
      log.info({ folder, profiles: outcome.profiles, tookMs: outcome.tookMs }, 'lead index built');
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
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

const runWorker = async (
  request: BuildRequest,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<BuildMessage> => {
  signal.throwIfAborted();
  const worker = new Worker(new URL('./worker.ts', import.meta.url));
  const name = 'the thread that builds the lead index';
  const thread = connectThread<BuildRequest, BuildMessage>(worker, { name, timeoutMs, endsOnTimeout: true });
  try {
    return await unlessAborted(thread.call(request), signal);
  } finally {
    await thread.end(new ThreadError('closed', `${name} was closed`));
  }
};
