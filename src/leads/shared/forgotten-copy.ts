import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { markOfSalt } from '../embedded/forgotten-claim.ts';
import { forgottenDigest, readSalt } from '../embedded/forgotten-people.ts';
import type { ForgottenList } from '../without-forgotten.ts';
import { sumOf } from './fetch-object.ts';
import type { SharedManifest } from './shared-manifest.ts';

/** A gateway's checked copy of the fleet's list of forgotten people. */
export interface ForgottenCopy extends ForgottenList {
  /** Switches to the list in `folder` after checking it; null: nobody is forgotten. Rejects if it is not as written. */
  use(stored: SharedManifest['forgotten']): Promise<void>;
  close(): void;
}

interface OpenList {
  includes(username: string): boolean;
  close(): void;
}

const nobody: OpenList = { includes: () => false, close: () => undefined };

/** Until the first `use`, the list is unknown, and `find` rejects. */
export const createForgottenCopy = (folder: string): ForgottenCopy => {
  let list: OpenList | null = null;
  return {
    isKnown: () => list !== null,
    find: async (usernames) => {
      if (list === null) throw new Error('the shared list of forgotten people is not known yet');
      return new Set(usernames.filter(list.includes));
    },
    use: async (stored) => {
      const next = stored === null ? nobody : await openList(join(folder, stored.name), stored);
      list?.close();
      list = next;
      for (const name of await readdir(folder))
        if (name.startsWith('forgotten-') && name !== stored?.name) await rm(join(folder, name));
    },
    close: () => {
      list?.close();
      list = null;
    },
  };
};

const openList = async (
  file: string,
  { sha256, mark }: NonNullable<SharedManifest['forgotten']>,
): Promise<OpenList> => {
  if ((await sumOf(file)) !== sha256) throw new Error(`${file} is not as it was written`);
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const salt = readSalt(database);
    if (markOfSalt(salt) !== mark) throw new Error(`${file} is another list than the manifest names`);
    const find = database.prepare('SELECT 1 FROM people WHERE digest = ?');
    return {
      includes: (username) => find.get(forgottenDigest(username, salt)) !== undefined,
      close: () => database.close(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
};
