import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { FindForgotten } from '../lead-source.ts';
import type { ForgottenList } from '../without-forgotten.ts';
import { forgottenDigest, readSalt } from './forgotten-people.ts';
import { forgottenFile } from './lead-folder.ts';
import { openExisting } from './segment/open-existing.ts';

/** A change locks the list for some milliseconds, one of a million names for a second; whoever looks then looks again. */
const looks = 80;
const lookAgainMs = 25;

/**
 * Asks the list in `folder`, which may be made, changed or removed at any time: it is opened for each question, so that
 * somebody who is forgotten is so at once. Nobody is forgotten where there is none.
 */
export const openForgottenList = (folder: string): ForgottenList => ({
  isKnown: () => true,
  find: createFind(folder),
});

const createFind =
  (folder: string): FindForgotten =>
  async (usernames, { signal }) => {
    for (let look = 1; ; look += 1) {
      try {
        return lookUp(forgottenFile(folder), usernames);
      } catch (error) {
        if (look === looks) throw error;
        await delay(lookAgainMs, undefined, { signal });
      }
    }
  };

const lookUp = (file: string, usernames: readonly string[]): Set<string> => {
  // What is there and may not be entered throws.
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return new Set();
  const database = openExisting(file, { timeoutMs: 0 });
  try {
    const salt = readSalt(database);
    const find = database.prepare('SELECT 1 FROM people WHERE digest = ?');
    return new Set(usernames.filter((username) => find.get(forgottenDigest(username, salt)) !== undefined));
  } finally {
    database.close();
  }
};
