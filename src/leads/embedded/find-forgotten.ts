import { setTimeout as delay } from 'node:timers/promises';
import type { ForgottenList } from '../without-forgotten.ts';
import { readForgottenClaim } from './forgotten-claim.ts';
import { forgottenDigest, readSalt } from './forgotten-people.ts';
import { forgottenFile } from './lead-folder.ts';
import { openExisting } from './segment/open-existing.ts';

/** A change locks the list for some milliseconds, or a second for a million names. Readers try again this often. */
const looks = 80;
const lookAgainMs = 25;

/**
 * Reads the list in `folder`, which may be created, changed or removed at any time. It is opened for each question, so
 * a change takes effect at once. If there is no list and the manifest names none, nobody is forgotten.
 */
export const openForgottenList = (folder: string): ForgottenList => ({
  isKnown: () => true,
  find: async (usernames, { signal }) => {
    for (let look = 1; ; look += 1) {
      try {
        return lookUp(folder, usernames);
      } catch (error) {
        if (look === looks) throw error;
        await delay(lookAgainMs, undefined, { signal });
      }
    }
  },
});

const lookUp = (folder: string, usernames: readonly string[]): Set<string> => {
  const claim = readForgottenClaim(folder);
  if (!claim.hasList()) return new Set();
  const database = openExisting(forgottenFile(folder), { timeoutMs: 0 });
  try {
    const salt = readSalt(database);
    claim.checkSalt(salt);
    const find = database.prepare('SELECT 1 FROM people WHERE digest = ?');
    return new Set(usernames.filter((username) => find.get(forgottenDigest(username, salt)) !== undefined));
  } finally {
    database.close();
  }
};
