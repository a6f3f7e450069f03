import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { markOfSalt } from '../embedded/forgotten-claim.ts';
import { forgottenDigest, readSalt } from '../embedded/forgotten-people.ts';
import { sumOf } from './fetch-object.ts';
import type { SharedManifest } from './shared-manifest.ts';

export type ForgottenCopy = ReturnType<typeof createForgottenCopy>;

type OpenList = Awaited<ReturnType<typeof openList>>;

const nobody: OpenList = { includes: () => false, close: () => undefined };

/**
 * A gateway's checked copy of the fleet's list of forgotten people. Until the first `use`, the list is unknown, and
 * `find` rejects.
 */
export const createForgottenCopy = (folder: string) => {
  let list: OpenList | null = null;
  return {
    isKnown: (): boolean => list !== null,
    find: async (usernames: readonly string[]): Promise<Set<string>> => {
      if (list === null) throw new Error('the shared list of forgotten people is not known yet');
      return new Set(usernames.filter(list.includes));
    },
    /** Switches to the list in `folder` after checking it; null: nobody is forgotten. Rejects if it is not as written. */
    use: async (stored: SharedManifest['forgotten']): Promise<void> => {
      const next = stored === null ? nobody : await openList(join(folder, stored.name), stored);
      list?.close();
      list = next;
      for (const name of await readdir(folder))
        if (name.startsWith('forgotten-') && name !== stored?.name) await rm(join(folder, name));
    },
    close: (): void => {
      list?.close();
      list = null;
    },
  };
};

const openList = async (file: string, { sha256, mark }: NonNullable<SharedManifest['forgotten']>) => {
  if ((await sumOf(file)) !== sha256) throw new Error(`${file} is not as it was written`);
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const salt = readSalt(database);
    if (markOfSalt(salt) !== mark) throw new Error(`${file} is another list than the manifest names`);
    const find = database.prepare('SELECT 1 FROM people WHERE digest = ?');
    return {
      includes: (username: string): boolean => find.get(forgottenDigest(username, salt)) !== undefined,
      close: (): void => database.close(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
};
