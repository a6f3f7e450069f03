import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { copyFile, constants, link, lstat, open, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CommandError } from './command-error.ts';
import { codeOf, lacksLinks, writeTrouble } from './write-trouble.ts';

/** The refusal to write over a file. */
export const fileExists = (path: string): CommandError =>
  new CommandError('file_exists', `${path} is there already, and stays as it is. Name another file.`);

const isThere = async (path: string): Promise<boolean> => {
  try {
    await lstat(path);
    return true;
  } catch {
    // What cannot be looked at cannot be written either, which is told then.
    return false;
  }
};

/** Under its own name at once and whole, and never over another file. */
const giveName = async (part: string, path: string): Promise<void> => {
  try {
    await link(part, path);
  } catch (error) {
    if (!lacksLinks(error)) throw error;
    // A file system without links.
    await copyFile(part, path, constants.COPYFILE_EXCL);
  }
};

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** While `work` goes on, a signal that ends the process removes the part first. */
const removingAtSignals = async <T>(part: string, work: () => Promise<T>): Promise<T> => {
  const stop = (signal: NodeJS.Signals): void => {
    rmSync(part, { force: true });
    for (const name of stopSignals) process.off(name, stop);
    process.kill(process.pid, signal);
  };
  for (const name of stopSignals) process.on(name, stop);
  try {
    return await work();
  } finally {
    for (const name of stopSignals) process.off(name, stop);
  }
};

/**
 * Writes a new file that only this user can read: it is there whole, when `work` is done, or not at all. Throws
 * CommandError `file_exists` and `file_failed`, and what `work` throws.
 */
export const writeNewFile = async <T>(
  path: string,
  work: (write: (text: string) => Promise<void>) => Promise<T>,
): Promise<T> => {
  if (await isThere(path)) throw fileExists(path);
  const orFail = async <R>(what: string, doing: Promise<R>): Promise<R> => {
    try {
      return await doing;
    } catch (cause) {
      if (codeOf(cause) === 'EEXIST') throw fileExists(path);
      throw new CommandError('file_failed', `${path} cannot be ${what}: ${writeTrouble(cause)}.`, { cause });
    }
  };
  const part = join(dirname(path), `.${basename(path)}.${randomUUID()}.part`);
  return removingAtSignals(part, async () => {
    const file = await orFail('made', open(part, 'wx', 0o600));
    try {
      const result = await work((text) => orFail('written', file.appendFile(text)));
      await orFail('written', file.sync());
      await orFail('made', giveName(part, path));
      return result;
    } finally {
      await file.close();
      await rm(part, { force: true });
    }
  });
};
