import { hash } from 'node:crypto';
import { statSync } from 'node:fs';
import { forgottenFile } from './lead-folder.ts';
import { ManifestUnreadableError, readManifest } from './manifest.ts';

/**
 * What the manifest in a folder tells of the list of forgotten people there. To be read before the list is: a list is
 * named when it is on the disk.
 */
export interface ForgottenClaim {
  /** Whether there is a list. Throws ForgottenListDamagedError where there must be one and is none, or an empty file. */
  hasList(): boolean;
  /** Throws ForgottenListDamagedError when a list with this salt, in hexadecimal, is not the one that must be there. */
  checkSalt(salt: string): void;
}

/** What a manifest knows a list by; `salt` is its salt in hexadecimal. */
export const markOfSalt = (salt: string): string => hash('sha256', salt);

export const readForgottenClaim = (folder: string): ForgottenClaim => {
  const file = forgottenFile(folder);
  const { isNamed, mark } = readNamed(folder);
  return {
    hasList: () => {
      // What is there and may not be entered throws.
      const found = statSync(file, { throwIfNoEntry: false });
      if (isNamed && (found === undefined || found.size === 0)) throw new ForgottenListDamagedError(file);
      return found !== undefined;
    },
    checkSalt: (salt) => {
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

/** The list of forgotten people in `file` is not what was written, or is not there any more. */
export class ForgottenListDamagedError extends Error {
  readonly file: string;

  constructor(file: string, options?: ErrorOptions) {
    super(`the list of forgotten people in ${file} is damaged or missing`, options);
    this.name = 'ForgottenListDamagedError';
    this.file = file;
  }
}
