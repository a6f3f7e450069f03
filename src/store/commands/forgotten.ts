import { read, run, write, writeTransaction } from '../command.ts';
import { eachOf, onlyOf, statement, valuesOf } from '../statement.ts';

export interface ForgottenListRow {
  /** A digest of the salt. */
  id: string;
  /** Begins each text that is digested for this list. */
  salt: string;
  /** The tallies of the older lists that were taken over into it. */
  moved: string[];
}

interface ListRow {
  id: string;
  salt: string;
  moved: string | null;
  revision: bigint;
}

/** Returns the lists, the oldest first, and the number of changes so far. */
export const readForgottenLists = read({
  text: `select id, salt, moved, (select revision from forgotten_revision) as revision
    from forgotten_lists order by position`,
  read: (rows: ListRow[]): { lists: ForgottenListRow[]; revision: number } => ({
    lists: rows.map(({ id, salt, moved }) => ({ id, salt, moved: moved?.split(' ') ?? [] })),
    revision: Number(rows[0]?.revision ?? 0),
  }),
});

/** Returns those of `digests` that are stored, and the ids of all lists: a caller that knows fewer must ask for those, too. */
export const findForgotten = read({
  text: ({ isOneOf }) => `select id as list, null as digest from forgotten_lists
    union all select null, digest from forgotten_people where ${isOneOf('digest', '$1')}`,
  values: (digests: readonly string[]) => [JSON.stringify(digests)],
  read: (rows: { list: string | null; digest: string | null }[]) => ({
    lists: rows.flatMap(({ list }) => list ?? []),
    digests: rows.flatMap(({ digest }) => digest ?? []),
  }),
});

export const countForgotten = read({
  text: `select count(*) as people from forgotten_people`,
  read: onlyOf(({ people }: { people: bigint }) => Number(people)),
});

export const listForgotten = read({
  text: `select digest from forgotten_people where digest > $1 order by digest limit $2`,
  values: valuesOf<{ after: string; limit: number }>('after', 'limit'),
  read: eachOf(({ digest }: { digest: string }) => digest),
});

/** Locks the lists until the transaction ends. Also a switch of profiles may lock this row. */
const raiseRevision = statement({
  text: `insert into forgotten_revision (id, revision) values (1, 1)
    on conflict (id) do update set revision = forgotten_revision.revision + 1 returning revision`,
  read: onlyOf(({ revision }: { revision: bigint }) => Number(revision)),
});

const insertList = statement({
  text: `insert into forgotten_lists (id, salt, position) values ($1, $2, $3)`,
  values: valuesOf<{ id: string; salt: string; position: number }>('id', 'salt', 'position'),
});

/** Adds an empty list, unless it exists. `onlyFirst`: unless there is any. */
export const addForgottenList = writeTransaction(function* ({
  id,
  salt,
  onlyFirst,
}: Omit<ForgottenListRow, 'moved'> & { onlyFirst: boolean }) {
  yield* run(raiseRevision, undefined);
  const { lists } = yield* run(readForgottenLists, undefined);
  if (lists.some((list) => onlyFirst || list.id === id)) return;
  yield* run(insertList, { id, salt, position: lists.length });
});

/** Notes the tally of an older list that was taken over as a whole. */
export const noteMovedList = write({
  text: `update forgotten_lists set moved = coalesce(moved || ' ', '') || cast($2 as text) where id = $1`,
  values: valuesOf<{ id: string; tally: string }>('id', 'tally'),
});

const insertDigests = statement({
  text: ({ givenStrings }) => `insert into forgotten_people (digest)
    select value from ${givenStrings('$1')} where true on conflict (digest) do nothing`,
  values: (digests: readonly string[]) => [JSON.stringify(digests)],
});

/** Returns the revision after it. Throws if the list is not in this store: its digests would mean nothing. */
export const addForgotten = writeTransaction(function* ({
  list,
  digests,
}: {
  list: string;
  digests: readonly string[];
}) {
  const revision = yield* run(raiseRevision, undefined);
  const { lists } = yield* run(readForgottenLists, undefined);
  if (!lists.some(({ id }) => id === list))
    throw new Error(`there is no list ${list} of forgotten people in this store`);
  yield* run(insertDigests, digests);
  return revision;
});

const deleteDigests = statement({
  text: ({ isOneOf }) => `delete from forgotten_people where ${isOneOf('digest', '$1')} returning digest`,
  values: (digests: readonly string[]) => [JSON.stringify(digests)],
  read: eachOf(({ digest }: { digest: string }) => digest),
});

/** Returns those of `digests` that were removed, and the ids of all lists, as `findForgotten` does. */
export const removeForgotten = writeTransaction(function* (digests: readonly string[]) {
  yield* run(raiseRevision, undefined);
  const removed = yield* run(deleteDigests, digests);
  const { lists } = yield* run(readForgottenLists, undefined);
  return { lists: lists.map(({ id }) => id), digests: removed };
});
