import { readdir } from 'node:fs/promises';
import { nullWhenAbsent } from './null-when-absent.ts';

/** Lists the names in a folder; an empty list if there is no such folder. */
export const namesIn = async (directory: string): Promise<string[]> =>
  (await nullWhenAbsent(readdir(directory))) ?? [];
