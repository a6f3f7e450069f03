import type { Queryable } from './load-snapshot.ts';
import { digestBytes, personDigest } from './person-digest.ts';

/** The list of people who asked to be forgotten, as it stood at one moment. */
export interface ForgottenCopy {
  /** Another one with every change. */
  revision: string;
  /** What digests are salted with. */
  salt: string;
  /** Digests of persons, one behind the other, ascending. */
  digests: Uint8Array<ArrayBuffer>;
}

/** One statement, so that all of it is of one moment; a person takes some 22 bytes on the way. */
export const loadForgotten = async (database: Queryable): Promise<ForgottenCopy> => {
  const { rows } = await database.query({
    text: `select people_revision::text as revision, salt::text,
             (select encode(string_agg(uuid_send(person), ''::bytea order by person), 'base64') from forgotten) as people
           from state`,
  });
  const [row] = rows;
  if (row === undefined) throw new Error('The table of the state of the leads is empty.');
  const { people } = row;
  // A copy, as a small buffer is a view of a pool that cannot be handed to another thread.
  const digests = Uint8Array.from(Buffer.from(typeof people === 'string' ? people : '', 'base64'));
  return { revision: String(row['revision']), salt: String(row['salt']), digests };
};

/** Whether `username` is in the list. */
export const isForgotten = ({ salt, digests }: ForgottenCopy, username: string): boolean => {
  const wanted = personDigest(username, salt);
  let [from, to] = [0, digests.length / digestBytes];
  while (from < to) {
    const middle = (from + to) >>> 1;
    const start = middle * digestBytes;
    const order = wanted.compare(digests, start, start + digestBytes);
    if (order === 0) return true;
    if (order < 0) to = middle;
    else from = middle + 1;
  }
  return false;
};
