import type { LeadsClient } from './leads-database.ts';
import { profilesTable } from './generation-tables.ts';
import type { Part } from './part/part.ts';
import { hasBit } from './part/places.ts';

/** Places in parts, by the ids of the parts; each has a bit for each place. */
export type PlacesByPart = Map<number, Uint8Array>;

export const addPlaces = (
  all: PlacesByPart,
  { part, places }: { part: Part; places: readonly number[] },
): void => {
  const bits = all.get(part.id) ?? new Uint8Array(Math.ceil(part.profiles / 8));
  for (const place of places) bits[place >>> 3] = (bits[place >>> 3] ?? 0) | (1 << (place & 7));
  all.set(part.id, bits);
};

/** Deletes the profiles at `places` of `part`, and marks them as gone. */
export const removePlaces = async (
  client: LeadsClient,
  { part, places, generation }: { part: Part; places: Uint8Array; generation: number },
): Promise<void> => {
  const removed: number[] = [];
  const gone = part.gone === null ? new Uint8Array(places.length) : Uint8Array.from(part.gone);
  for (let place = 0; place < part.profiles; place += 1) if (hasBit(places, place)) removed.push(place);
  for (const [index, bits] of places.entries()) gone[index] = (gone[index] ?? 0) | bits;
  const profiles = profilesTable.name(generation);
  await client.query(
    `delete from ${profiles} using unnest($2::integer[]) as removed (place)
     where ${profiles}.part = $1 and ${profiles}.place = removed.place`,
    [part.id, removed],
  );
  await client.query('update parts set gone = $2 where id = $1', [part.id, Buffer.from(gone)]);
};
