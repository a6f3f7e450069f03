import { randomUUID } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Log } from '../../../log.ts';
import type { SyntheticSet } from '../index-identity.ts';
import type { BuildMessage, BuildRequest } from './messages.ts';

export interface PrepareIndexInput {
  file: string;
  synthetic: SyntheticSet;
  /** Builds even when the file that is there looks usable. */
  force: boolean;
  /** The whole of checking and building. */
  timeoutMs: number;
  signal: AbortSignal;
  log: Log;
}

/** A left-over that nothing has written to for so long belongs to a build that was killed. */
const abandonedAfterMs = 60_000;
const buildingMark = '.building-';

/**
 * Resolves once `file`, in a folder that exists, holds the wanted index, whole; builds it in a worker thread where
 * it does not. Rejects when that fails, takes longer than `timeoutMs`, or is aborted.
 */
export const prepareIndex = async (input: PrepareIndexInput): Promise<void> => {
  await removeAbandoned(input.file);
  const stem = `${input.file}${buildingMark}${randomUUID()}`;
  const temporary = { index: stem, sort: `${stem}-sort` };
  try {
    await runWorker({ ...input, temporary });
  } finally {
    await Promise.all(Object.values(temporary).map((file) => rm(file, { force: true })));
  }
};

const removeAbandoned = async (file: string): Promise<void> => {
  const folder = dirname(file);
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`${basename(file)}${buildingMark}`)) continue;
    const path = join(folder, name);
    const touchedMs = (await stat(path).catch(() => null))?.mtimeMs ?? Infinity;
    if (Date.now() - touchedMs > abandonedAfterMs) await rm(path, { force: true });
  }
};

const runWorker = async ({
  log,
  timeoutMs,
  signal,
  ...job
}: PrepareIndexInput & Pick<BuildRequest, 'temporary'>): Promise<void> => {
  const { file, temporary, synthetic, force } = job;
  const workerData: BuildRequest = { file, temporary, synthetic, force };
  signal.throwIfAborted();
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData });
  const prepared = Promise.withResolvers<void>();
  const abort = (): void => prepared.reject(signal.reason);
  const timer = setTimeout(
    () => prepared.reject(new Error('The lead index was not ready in time.')),
    timeoutMs,
  );
  signal.addEventListener('abort', abort, { once: true });
  worker.on('message', (message: BuildMessage) => {
    if (message.kind === 'prepared') prepared.resolve();
    else logProgress(message, { log, file });
  });
  worker.on('error', prepared.reject);
  worker.on('exit', (code) => prepared.reject(new Error(`The lead index's build ended with code ${code}.`)));
  try {
    await prepared.promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    await worker.terminate();
  }
};

const logProgress = (
  message: Exclude<BuildMessage, { kind: 'prepared' }>,
  { log, file }: { log: Log; file: string },
): void => {
  if (message.kind === 'built') {
    log.info({ file, profiles: message.profiles, tookMs: message.tookMs }, 'lead index built');
  } else if (message.reason === null) {
    log.info({ file }, 'building the lead index in the background');
  } else {
    log.warn({ file, reason: message.reason }, 'the lead index cannot be used and is built anew');
  }
};
