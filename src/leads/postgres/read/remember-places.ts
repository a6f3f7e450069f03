import { quickenPlaces, type StoredPlaces } from '../part/places.ts';
import type { RecentPlaces } from './recent-places.ts';
import type { PartReader } from './search-parts.ts';

/** Reads what `recent` has not, and leaves it there for the next searches. */
export const rememberPlaces = (reader: PartReader, recent: RecentPlaces): PartReader => ({
  sizePlaces: async (part, conditions) => {
    const known = conditions.map((condition) => recent.find(condition)(part)?.bytes.length);
    const unknown = conditions.filter((_, index) => known[index] === undefined);
    const sizes = unknown.length === 0 ? [] : await reader.sizePlaces(part, unknown);
    const sizeOf = new Map(unknown.map((condition, index) => [condition, sizes[index]]));
    return conditions.map((condition, index) => known[index] ?? sizeOf.get(condition) ?? 0);
  },
  readPlaces: async (parts, conditions) => {
    const known = conditions.map((condition) => {
      const knownIn = recent.find(condition);
      return parts.map((part) => knownIn(part));
    });
    const isUnknown = (condition: number, part: number): boolean => known[condition]?.[part] === undefined;
    // All of these conditions are read of all of these parts: mostly nothing of it is known.
    const askedParts = [...parts.entries()].filter(([part]) =>
      conditions.some((_, condition) => isUnknown(condition, part)),
    );
    const askedConditions = [...conditions.entries()].filter(([condition]) =>
      parts.some((_, part) => isUnknown(condition, part)),
    );
    if (askedParts.length > 0) {
      const read = await reader.readPlaces(
        askedParts.map(([, part]) => part),
        askedConditions.map(([, condition]) => condition),
      );
      for (const [column, [index, condition]] of askedConditions.entries()) {
        const found = askedParts.map(([place, part], row) => ({
          place,
          part,
          places: quickenPlaces(read[row]?.[column] ?? nobody, part.profiles),
        }));
        recent.keep(condition, found);
        for (const { place, places } of found) {
          const row = known[index];
          if (row !== undefined) row[place] = places;
        }
      }
    }
    return parts.map((_, part) => conditions.map((__, condition) => known[condition]?.[part] ?? nobody));
  },
  readLeads: (places) => reader.readLeads(places),
});

const nobody: StoredPlaces = { form: 'list', bytes: new Uint8Array() };
