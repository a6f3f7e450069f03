import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { stagingFolder } from '../lead-folder.ts';

/* The rows of a running import, in a separate folder. */

export const spoolFile = (folder: string): string => join(stagingFolder(folder), 'spool');

export const clearStaging = (folder: string): void => {
  removeStaging(folder);
  mkdirSync(stagingFolder(folder), { recursive: true });
};

export const removeStaging = (folder: string): void =>
  rmSync(stagingFolder(folder), { recursive: true, force: true });
