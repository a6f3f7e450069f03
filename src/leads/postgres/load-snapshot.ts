import type { Part } from './part/part.ts';

/** What searches answer from, as it stood at one moment. */
export interface Snapshot {
  /** Another one with every change, and never one that was before, also where a backup was put back. */
  revision: string;
  generation: number;
  profiles: number;
  /** The version of the folding that made the terms (fold-text.ts). */
  folding: string;
  /** Milliseconds since 1970; null when nothing was ever imported. */
  updatedAt: number | null;
  /** By most followers, descending. */
  parts: Part[];
}

/** A pool or a connection. */
export interface Queryable {
  query(config: {
    name?: string;
    text: string;
    values?: unknown[];
  }): Promise<{ rows: Record<string, unknown>[] }>;
}

/** The revision as it is compared; for any statement that reads `state`. */
export const revisionColumn = 'state.revision::text';

/** For every statement that changes what is found: random, as counting on from a backup would give numbers again. */
export const nextRevision = 'revision = gen_random_uuid()';

/** What changes with every change: of what is found, and of the list of forgotten people. */
export const readRevisions = async (database: Queryable): Promise<{ leads: string; people: string }> => {
  const { rows } = await database.query({
    name: 'leads-revisions',
    text: `select ${revisionColumn} as leads, people_revision::text as people from state`,
  });
  return { leads: String(rows[0]?.['leads']), people: String(rows[0]?.['people']) };
};

/** One statement, so that state and parts belong together. */
export const loadSnapshot = async (database: Queryable): Promise<Snapshot> => {
  const { rows } = await database.query({
    text: `select ${revisionColumn} as revision, state.generation, state.profiles as all_profiles, state.unicode,
             state.updated_at, parts.id, parts.run, parts.profiles, parts.fences, parts.most_followers,
             parts.least_followers, parts.gone, parts.has_erased
           from state left join parts on true
           order by parts.most_followers desc, parts.id`,
  });
  const [first] = rows;
  if (first === undefined) throw new Error('The table of the state of the leads is empty.');
  const updatedAt = first['updated_at'];
  return {
    revision: String(first['revision']),
    generation: Number(first['generation']),
    profiles: Number(first['all_profiles']),
    folding: String(first['unicode']),
    updatedAt: updatedAt === null ? null : Number(updatedAt),
    parts: rows.flatMap((row) => (row['id'] === null ? [] : [toPart(row)])),
  };
};

const toPart = (row: Record<string, unknown>): Part => {
  const { fences, gone } = row;
  return {
    id: Number(row['id']),
    run: String(row['run']),
    profiles: Number(row['profiles']),
    fences: Float64Array.from(Array.isArray(fences) ? fences : [], Number),
    mostFollowers: Number(row['most_followers']),
    leastFollowers: Number(row['least_followers']),
    gone: gone instanceof Uint8Array ? gone : null,
    hasErased: row['has_erased'] === true,
  };
};
