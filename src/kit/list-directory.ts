import { readdir } from 'node:fs/promises';
import { ignoreEnoent } from './ignore-enoent.ts';

/** Lists the names in a folder; an empty list if there is no such folder. */
export const listDirectory = async (directory: string): Promise<string[]> =>
  (await ignoreEnoent(readdir(directory))) ?? [];
