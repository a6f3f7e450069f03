import { existsSync } from 'node:fs';
import { forgottenFile } from './lead-folder.ts';
import { openExisting } from './segment/open-existing.ts';

/** Returns the number of people on the list in `folder`; 0 without a list. Throws SQLite's error. */
export const countForgotten = (folder: string): number => {
  const file = forgottenFile(folder);
  if (!existsSync(file)) return 0;
  const database = openExisting(file, { timeoutMs: 1_000 });
  try {
    return Number(database.prepare('SELECT count(*) AS people FROM people').get()?.['people']);
  } finally {
    database.close();
  }
};
