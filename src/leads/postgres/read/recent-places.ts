import type { QueryTerm } from '../../query/search-terms.ts';
import type { Part } from '../part/part.ts';
import type { StoredPlaces } from '../part/places.ts';

/**
 * Who met the conditions that were asked for last, in memory: most searches share their words and filters with others.
 * What a part has for a condition never changes, so nothing here grows old but with its part; a part is known by its run
 * and its id.
 */
export interface RecentPlaces {
  /** Answers what is known of `condition` for a part; to be used before anything is kept. */
  find(condition: QueryTerm): (part: Part) => StoredPlaces | undefined;
  /** `places` are copied: they may be a view of a whole block. */
  keep(condition: QueryTerm, found: readonly { part: Part; places: StoredPlaces }[]): void;
  /** Drops what belongs to other parts. */
  retain(parts: readonly Part[]): void;
}

interface Recent {
  /** By the ids of parts. */
  byPart: Map<number, { run: string; places: StoredPlaces }>;
  bytes: number;
}

/** What an entry takes beside its places, roughly. */
const entryBytes = 160;

/** Holds at most `maxBytes`; the conditions whose last use lies back farthest go first. */
export const createRecentPlaces = (maxBytes: number): RecentPlaces => {
  /** In the order of their last use. */
  const recents = new Map<string, Recent>();
  let bytes = 0;

  const add = (recent: Recent, added: number): void => {
    recent.bytes += added;
    bytes += added;
  };
  const drop = (key: string, recent: Recent): void => {
    recents.delete(key);
    bytes -= recent.bytes;
  };
  const use = (key: string): Recent => {
    const recent: Recent = recents.get(key) ?? { byPart: new Map(), bytes: 0 };
    recents.delete(key);
    recents.set(key, recent);
    return recent;
  };

  return {
    find: (condition) => {
      const key = keyOf(condition);
      const byPart = recents.has(key) ? use(key).byPart : null;
      return (part) => {
        const known = byPart?.get(part.id);
        return known?.run === part.run ? known.places : undefined;
      };
    },
    keep: (condition, found) => {
      const recent = use(keyOf(condition));
      for (const { part, places } of found) {
        const known = recent.byPart.get(part.id);
        if (known?.run === part.run) continue;
        if (known !== undefined) add(recent, -bytesOf(known.places));
        const copied = { form: places.form, bytes: new Uint8Array(places.bytes) };
        recent.byPart.set(part.id, { run: part.run, places: copied });
        add(recent, bytesOf(copied));
      }
      for (const [key, oldest] of recents) {
        if (bytes <= maxBytes) break;
        drop(key, oldest);
      }
    },
    retain: (parts) => {
      const runs = new Map(parts.map(({ id, run }) => [id, run]));
      for (const [key, recent] of recents) {
        for (const [id, { run, places }] of recent.byPart) {
          if (runs.get(id) === run) continue;
          recent.byPart.delete(id);
          add(recent, -bytesOf(places));
        }
        if (recent.byPart.size === 0) drop(key, recent);
      }
    },
  };
};

const bytesOf = ({ bytes }: StoredPlaces): number => bytes.length + entryBytes;

/** No term has an asterisk. */
const keyOf = ({ text, isPrefix }: QueryTerm): string => (isPrefix ? `${text}*` : text);
