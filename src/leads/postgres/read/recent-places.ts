import { LRUCache } from 'lru-cache';
import type { QueryTerm } from '../../query/search-terms.ts';
import type { Part } from '../part/part.ts';
import type { StoredPlaces } from '../part/places.ts';

/**
 * Keeps the places that met recent conditions, as most searches share their words and filters with others. The places of a
 * condition in a part never change, so they are valid as long as the part. A run and an id identify a part.
 */
export interface RecentPlaces {
  /** Returns a function that finds the kept places of `condition` in a part. Use it before the next `keep`. */
  find(condition: QueryTerm): (part: Part) => StoredPlaces | undefined;
  /** Copies `places`, which may be a view of a whole block. */
  keep(condition: QueryTerm, found: readonly { part: Part; places: StoredPlaces }[]): void;
  /** Drops the places of all other parts. */
  retain(parts: readonly Part[]): void;
}

/** The places of a condition, by the ids of parts. */
type Recent = Map<number, { run: string; places: StoredPlaces }>;

/** The memory of an entry beside its places, roughly. */
const entryBytes = 160;

/** Holds at most `maxBytes`; drops the least recently used conditions first. */
export const createRecentPlaces = (maxBytes: number): RecentPlaces => {
  const recents = new LRUCache<string, Recent>({ maxSize: Math.max(1, maxBytes), sizeCalculation: sizeOf });
  /** The cache measures a value again only when it is a new one. */
  const store = (key: string, recent: Recent): void => {
    if (recent.size === 0) recents.delete(key);
    else recents.set(key, new Map(recent));
  };
  return {
    find: (condition) => {
      const recent = recents.get(keyOf(condition));
      return (part) => {
        const known = recent?.get(part.id);
        return known?.run === part.run ? known.places : undefined;
      };
    },
    keep: (condition, found) => {
      const key = keyOf(condition);
      const recent: Recent = recents.get(key) ?? new Map();
      for (const { part, places } of found) {
        if (recent.get(part.id)?.run === part.run) continue;
        const copied = { form: places.form, bytes: new Uint8Array(places.bytes) };
        recent.set(part.id, { run: part.run, places: copied });
      }
      store(key, recent);
    },
    retain: (parts) => {
      const runs = new Map(parts.map(({ id, run }) => [id, run]));
      // From the least to the most recently used, so that storing them again keeps that order.
      for (const key of [...recents.rkeys()]) {
        const recent = recents.peek(key) ?? new Map();
        for (const [id, { run }] of recent) if (runs.get(id) !== run) recent.delete(id);
        store(key, recent);
      }
    },
  };
};

const sizeOf = (recent: Recent): number =>
  recent.values().reduce((bytes, { places }) => bytes + bytesOf(places), 0);

const bytesOf = ({ bytes }: StoredPlaces): number => bytes.length + entryBytes;

/** No term has an asterisk. */
const keyOf = ({ text, isPrefix }: QueryTerm): string => (isPrefix ? `${text}*` : text);
