import { readdir } from 'node:fs/promises';
import { nullWhenAbsent } from './null-when-absent.ts';

/** The names in a folder; none when it is not there. */
export const namesIn = async (directory: string): Promise<string[]> =>
  (await nullWhenAbsent(readdir(directory))) ?? [];
