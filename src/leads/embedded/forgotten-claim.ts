import { hash } from 'node:crypto';
import { statSync } from 'node:fs';
import { forgottenFile } from './lead-folder.ts';
import { ManifestUnreadableError, readManifest } from './manifest.ts';

/** Returns the mark that a manifest stores for a list; `salt` is the list's salt in hexadecimal. */
export const markOfSalt = (salt: string): string => hash('sha256', salt);

/**
 * Returns the manifest's facts about the list of forgotten people. Read it before the list: the manifest names a list
 * only after the list is on the disk.
 */
export const readForgottenClaim = (folder: string) => {
  const file = forgottenFile(folder);
  const { isNamed, mark } = readNamed(folder);
  return {
    /** Returns true if there is a list. Throws ForgottenListDamagedError if a required list is missing or empty. */
    hasList: (): boolean => {
      // Throws if this user may not enter the folder.
      const found = statSync(file, { throwIfNoEntry: false });
      if (isNamed && (found === undefined || found.size === 0)) throw new ForgottenListDamagedError(file);
      return found !== undefined;
    },
    /** Throws ForgottenListDamagedError if the list with this salt, in hexadecimal, is not the required one. */
    checkSalt: (salt: string): void => {
      if (mark !== null && markOfSalt(salt) !== mark) throw new ForgottenListDamagedError(file);
    },
  };
};

const readNamed = (folder: string): { isNamed: boolean; mark: string | null } => {
  try {
    const mark = readManifest(folder)?.forgotten ?? null;
    return { isNamed: mark !== null, mark };
  } catch (error) {
    if (!(error instanceof ManifestUnreadableError)) throw error;
    // It may have named any list.
    return { isNamed: true, mark: null };
  }
};

/** The list of forgotten people in `file` is missing or not as it was written. */
export class ForgottenListDamagedError extends Error {
  readonly file: string;

  constructor(file: string, options?: ErrorOptions) {
    super(`the list of forgotten people in ${file} is damaged or missing`, options);
    this.name = 'ForgottenListDamagedError';
    this.file = file;
  }
}
