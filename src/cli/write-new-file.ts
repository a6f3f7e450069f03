import { randomUUID } from 'node:crypto';
import { constants, copyFileSync, linkSync, rmSync } from 'node:fs';
import { lstat, open, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { onStopSignals } from '../kit/process.ts';
import { CommandError } from './command-error.ts';

const problems: Record<string, string> = {
  ENOENT: 'its folder does not exist; make it first',
  ENOTDIR: 'its folder does not exist; make it first',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the disk is read-only',
  EISDIR: 'it is a folder',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota of this user is used up',
};

export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';

/** Describes why a file cannot be written: the meaning of a failed system call, or else its code. */
export const describeWriteError = (error: unknown): string => problems[codeOf(error)] ?? codeOf(error);

export const fileExists = (path: string): CommandError =>
  new CommandError('file_exists', `${path} already exists and was not changed. Name another file.`);

/** Gives the file `part` the name `path` too, never over another file. Throws the system's error. */
const giveName = (part: string, path: string): void => {
  try {
    linkSync(part, path);
  } catch (error) {
    // Some file systems have no links.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK'].includes(codeOf(error))) throw error;
    copyFileSync(part, path, constants.COPYFILE_EXCL);
  }
};

const removal = { recursive: true, force: true, maxRetries: 5 } as const;

/** Gives `work` a name beside `path` for what is not whole yet. A signal that ends the process removes it, too. */
export const withPart = async <T>(path: string, work: (part: string) => Promise<T>): Promise<T> => {
  const part = join(dirname(path), `.${basename(path)}.${randomUUID()}.part`);
  const release = onStopSignals((signal) => {
    rmSync(part, removal);
    release();
    process.kill(process.pid, signal);
  });
  try {
    return await work(part);
  } finally {
    await rm(part, removal);
    release();
  }
};

export type Write = (text: string) => Promise<void>;

/** Writes a new private file, whole or not at all. Throws `file_exists` and `file_failed`, and the errors of `work`. */
export const writeNewFile = async <T>(path: string, work: (write: Write) => Promise<T>): Promise<T> => {
  // A folder that cannot be read cannot be written either; that error follows.
  const isThere = await lstat(path).then(
    () => true,
    () => false,
  );
  if (isThere) throw fileExists(path);
  const orFail = async <R>(verb: string, doing: () => R): Promise<Awaited<R>> => {
    try {
      return await doing();
    } catch (cause) {
      if (codeOf(cause) === 'EEXIST') throw fileExists(path);
      const message = `${path} cannot be ${verb}: ${describeWriteError(cause)}.`;
      throw new CommandError('file_failed', message, { cause });
    }
  };
  return withPart(path, async (part) => {
    await using file = await orFail('created', () => open(part, 'wx', 0o600));
    const result = await work((text) => orFail('written', () => file.appendFile(text)));
    await orFail('written', () => file.sync());
    await orFail('created', () => giveName(part, path));
    return result;
  });
};
