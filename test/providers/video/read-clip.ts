import { readFile } from 'node:fs/promises';

/** One of the films in `films/`, whose README.md tells how each was made. */
export const readClip = (name: string): Promise<Buffer> =>
  readFile(new URL(`./films/${name}`, import.meta.url));
