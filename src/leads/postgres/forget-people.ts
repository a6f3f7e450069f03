import { profilesTable } from './generation-tables.ts';
import { addPlaces, removePlaces, type PlacesByPart } from './gone-places.ts';
import { inTransaction } from './in-transaction.ts';
import type { LeadsClient } from './leads-database.ts';
import { loadSnapshot, nextRevision } from './load-snapshot.ts';
import { digestText, personDigest } from './person-digest.ts';

/**
 * Deletes these people's profiles, also from an import under way, and keeps digests of their names. The lists still
 * tell, to whoever reads the tables, which words and filters a profile at a place that is gone had; the next import
 * makes all runs with such a profile anew. Answers how many had a profile.
 */
export const forgetPeople = async (client: LeadsClient, usernames: readonly string[]): Promise<number> => {
  const people = await digestsOf(client, usernames);
  const { removed, unstaged, generation } = await inTransaction(client, async () => {
    await client.query('insert into forgotten select unnest($1::uuid[]) on conflict do nothing', [people]);
    await client.query(newPeopleRevision);
    const { rowCount: unstaged } = await client.query('delete from staged where person = any($1::uuid[])', [
      people,
    ]);
    const snapshot = await loadSnapshot(client);
    const { rows }: { rows: { part: number; places: number[] }[] } = await client.query(
      `select part, array_agg(place) as places from ${profilesTable.name(snapshot.generation)}
       where person = any($1::uuid[]) group by part`,
      [people],
    );
    const removed = rows.reduce((sum, { places }) => sum + places.length, 0);
    if (removed > 0) {
      const gone: PlacesByPart = new Map();
      const parts = new Map(snapshot.parts.map((part) => [part.id, part]));
      for (const { part: id, places } of rows) {
        const part = parts.get(id);
        if (part === undefined) throw new Error(`A profile stands in part ${id}, which is none.`);
        addPlaces(gone, { part, places });
        const bits = gone.get(id);
        if (bits !== undefined)
          await removePlaces(client, { part, places: bits, generation: snapshot.generation });
      }
      // Earlier versions of their profiles may be gone from any part: nothing says any more from which.
      await client.query('update parts set has_erased = true where gone is not null and not has_erased');
      await client.query(`update state set ${nextRevision}, profiles = profiles - $1, updated_at = $2`, [
        removed,
        Date.now(),
      ]);
    }
    return { removed, unstaged: unstaged ?? 0, generation: snapshot.generation };
  });
  // A deleted row stays on the disk until then, or until the next vacuum where somebody's transaction may still see it.
  if (unstaged > 0) await client.query('vacuum staged');
  if (removed > 0) await client.query(`vacuum ${profilesTable.name(generation)}`);
  return removed;
};

/** Answers how many of them had been forgotten. */
export const rememberPeople = async (client: LeadsClient, usernames: readonly string[]): Promise<number> => {
  const people = await digestsOf(client, usernames);
  return inTransaction(client, async () => {
    const { rowCount } = await client.query('delete from forgotten where person = any($1::uuid[])', [people]);
    await client.query(newPeopleRevision);
    return rowCount ?? 0;
  });
};

const newPeopleRevision = 'update state set people_revision = gen_random_uuid()';

const digestsOf = async (client: LeadsClient, usernames: readonly string[]): Promise<string[]> => {
  const { rows } = await client.query('select salt from state');
  const salt = String(rows[0]?.salt);
  return usernames.map((username) => digestText(personDigest(username, salt)));
};
