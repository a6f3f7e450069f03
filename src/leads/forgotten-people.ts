import { randomBytes } from 'node:crypto';
import { AppError } from '../kit/errors.ts';
import { sha256 } from '../kit/ids.ts';
import { unlessAborted } from '../kit/deadline.ts';
import type { ForgottenListRow, Store } from '../store/store.ts';
import type { FindForgotten, LeadSource } from './lead-source.ts';
import { usernameKey } from './query/fold-text.ts';

/**
 * The people who asked to be forgotten. The store has only digests of their names. These are salted, so a precomputed list
 * of all names is useless; somebody who has the store can still try single names.
 */
export type ForgottenPeople = Awaited<ReturnType<typeof openForgottenPeople>>;

/** All people who were added up to a revision. Changes during the reading may be missing. */
export interface ForgottenSnapshot {
  /** The ids of all lists. People are added to the first one, which new sets of profiles record. */
  ids: readonly string[];
  /** Rises with every change of the lists. */
  revision: number;
  /** Fast: for millions of calls. */
  includes(username: string): boolean;
}

/** Digests that are written together. More would keep other writes waiting. */
export const forgottenBatch = 2_000;
const batchesIn = ({ length }: readonly unknown[]): number => Math.max(1, Math.ceil(length / forgottenBatch));

/** Returns the revision before `usernames` were added, which has raised it to `revision` alone. */
export const revisionBefore = (revision: number, usernames: readonly string[]): number =>
  revision - batchesIn(usernames);

/** Digests that are read together. */
const pageSize = 20_000;

/** Returns the id of the list with this salt. */
export const forgottenListId = (salt: string): string => sha256(salt);

const digestOf = (username: string, salt: string): string => sha256(`${salt} ${usernameKey(username)}`);

/** Returns batches in the order of the digests, because the store writes neighbours fast; an empty one for nobody. */
const inBatches = (usernames: readonly string[], salt: string): { username: string; digest: string }[][] => {
  const people = usernames.map((username) => ({ username, digest: digestOf(username, salt) }));
  people.sort((one, other) => (one.digest < other.digest ? -1 : 1));
  return Array.from({ length: batchesIn(people) }, (_, index) =>
    people.slice(index * forgottenBatch, (index + 1) * forgottenBatch),
  );
};

/** Opens the lists of the store, and begins the first one if there is none. */
export const openForgottenPeople = async (store: Store) => {
  let { lists } = await store.readForgottenLists(undefined);
  if (lists.length === 0) {
    const salt = randomBytes(16).toString('hex');
    await store.addForgottenList({ id: forgottenListId(salt), salt, onlyFirst: true });
    ({ lists } = await store.readForgottenLists(undefined));
  }
  const [first] = lists;
  if (first === undefined) throw new Error('the store has no list of forgotten people');

  const assertKept = (known: readonly ForgottenListRow[], ids: readonly string[]): void => {
    const lost = known.find(({ id }) => !ids.includes(id));
    if (lost !== undefined) throw new Error(`the list ${lost.id} of forgotten people is gone from the store`);
  };
  type Ask = (digests: string[]) => Promise<{ lists: string[]; digests: string[] }>;
  /** Asks for the digests of `usernames` in all lists. Returns those who are in an answer. */
  const select = async (usernames: readonly string[], ask: Ask): Promise<string[]> => {
    const found = new Set<string>();
    for (;;) {
      const asked = lists;
      const people = usernames.map((username) => ({
        username,
        digests: asked.map(({ salt }) => digestOf(username, salt)),
      }));
      const answer = await ask(people.flatMap(({ digests }) => digests));
      assertKept(asked, answer.lists);
      for (const digest of answer.digests) found.add(digest);
      if (answer.lists.length === asked.length)
        return people
          .filter(({ digests }) => digests.some((digest) => found.has(digest)))
          .map(({ username }) => username);
      // Another process has added a list.
      ({ lists } = await store.readForgottenLists(undefined));
    }
  };

  const find: FindForgotten = async (usernames, { signal }) =>
    new Set(await unlessAborted(select(usernames, store.findForgotten), signal));

  return {
    /** Finds those of `usernames` who are on a list. Rejects if the lists cannot be read now. */
    find,
    /** Adds people. They are on the disk when it resolves, with the revision after it. */
    add: async (usernames: readonly string[]): Promise<number> => {
      let revision = 0;
      for (const batch of inBatches(usernames, first.salt))
        revision = await store.addForgotten({ list: first.id, digests: batch.map(({ digest }) => digest) });
      return revision;
    },
    /** Removes people from all lists. Resolves with how many of them had been forgotten. */
    remove: async (usernames: readonly string[]): Promise<number> => {
      let removed = 0;
      for (const batch of inBatches(usernames, first.salt)) {
        const names = batch.map(({ username }) => username);
        removed += new Set((await select(names, store.removeForgotten)).map(usernameKey)).size;
      }
      return removed;
    },
    /** Counts the people; somebody who is on two lists counts twice. */
    count: () => store.countForgotten(undefined),
    /** Reads the lists, for imports and sweeps. */
    read: async (): Promise<ForgottenSnapshot> => {
      // The revision is read first: what was added up to it is in the pages.
      const read = await store.readForgottenLists(undefined);
      const ids = read.lists.map(({ id }) => id);
      assertKept(lists, ids);
      const digests = await readDigests(store);
      return {
        ids,
        revision: read.revision,
        includes: (username) =>
          digests.size > 0 && read.lists.some(({ salt }) => digests.has(digestOf(username, salt))),
      };
    },
  };
};

/** Reads all digests. A million of them takes about 100 MB, for the time of an import. */
const readDigests = async (store: Store): Promise<Set<string>> => {
  const digests = new Set<string>();
  for (let after = ''; ;) {
    const page = await store.listForgotten({ after, limit: pageSize });
    for (const digest of page) digests.add(digest);
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return digests;
    after = last;
  }
};

/** Rejects with AppError `upstream_error` when the list cannot be read, or with the signal's reason. */
export const createFindForgotten =
  ({ find }: Pick<ForgottenPeople, 'find'>): FindForgotten =>
  async (usernames, { signal }) => {
    try {
      return await find(usernames, { signal });
    } catch (cause) {
      signal.throwIfAborted();
      throw new AppError('upstream_error', 'The profiles cannot be checked now. Try again in a moment.', {
        retryAfterSeconds: 1,
        cause,
      });
    }
  };

/**
 * Removes forgotten people from the answers of `source`, so a page may be shorter than its limit. While the list cannot
 * be read, searches are rejected with AppError `upstream_error`. Closing closes `source`.
 */
export const createLeadsWithoutForgotten = (
  source: LeadSource,
  findForgotten: FindForgotten,
): LeadSource => ({
  search: async (query, { signal }) => {
    const leads = await source.search(query, { signal });
    if (leads.length === 0) return leads;
    const usernames = leads.map(({ username }) => username);
    const forgotten = await findForgotten(usernames, { signal });
    return forgotten.size === 0 ? leads : leads.filter(({ username }) => !forgotten.has(username));
  },
  status: () => source.status(),
  close: () => source.close(),
});
