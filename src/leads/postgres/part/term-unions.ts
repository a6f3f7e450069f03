import { storePlaces, type StoredPlaces } from './places.ts';
import { isFilterTerm } from '../../query/index-terms.ts';
import { sharedBeginning } from './shared-beginning.ts';

/** Terms come in the order of UTF-16 units, distinct. */
export interface TermPlaces {
  term: string;
  places: Uint16Array;
}

/** The profiles of all terms with one beginning. */
export interface TermUnion {
  /** The length of the beginning. */
  units: number;
  places: StoredPlaces;
}

export interface Unions {
  /** By the index of the first of their terms, shortest beginning first. */
  unions: ReadonlyMap<number, TermUnion[]>;
  /** Whether a block may end before the term at `index`: all beginnings it shares with the one before have unions. */
  mayDivide: (index: number) => boolean;
  /** The places of each term alone. */
  stored: readonly StoredPlaces[];
}

/** A beginning with more terms than this has a union, */
const mostTerms = 12;
/** and so has one whose terms take more bytes, if there are two. */
const mostBytes = 600;
/** The characters from which on a beginning is searched for (search-terms.ts). */
const leastCharacters = 3;

/** A beginning that several terms share, while they are gone through. */
interface Beginning {
  units: number;
  first: number;
  /** The indices of terms that share no more than this beginning with the one before. */
  divisions: number[];
}

/**
 * Finds the beginnings to be united. A beginning that is not among them, yet has more than one term, either is light
 * or has exactly the terms of a longer one: so it is enough to look where terms part.
 */
export const findUnions = (terms: readonly TermPlaces[], profiles: number): Unions => {
  const stored = terms.map(({ places }) => storePlaces(places, profiles));
  const bytesBefore = new Float64Array(terms.length + 1);
  for (const [index, { bytes }] of stored.entries())
    bytesBefore[index + 1] = (bytesBefore[index] ?? 0) + bytes.length;
  const unions = new Map<number, TermUnion[]>();
  const divisible = new Uint8Array(terms.length).fill(1);
  const unite = createUniter(profiles);
  const open: Beginning[] = [];

  const close = ({ units, first, divisions }: Beginning, end: number): void => {
    const bytes = (bytesBefore[end] ?? 0) - (bytesBefore[first] ?? 0);
    if (end - first <= mostTerms && bytes <= mostBytes) {
      for (const index of divisions) divisible[index] = 0;
      return;
    }
    const places = unite(terms, { first, end });
    // Longer beginnings are closed before the shorter ones around them.
    unions.set(first, [{ units, places }, ...(unions.get(first) ?? [])]);
  };

  for (let index = 1; index <= terms.length; index += 1) {
    const units = searchableUnits(terms[index - 1]?.term ?? '', terms[index]?.term ?? '');
    let first = index - 1;
    for (let top = open.at(-1); top !== undefined && top.units > units; top = open.at(-1)) {
      open.pop();
      close(top, index);
      first = top.first;
    }
    if (units === 0) continue;
    const top = open.at(-1);
    if (top?.units === units) top.divisions.push(index);
    else open.push({ units, first, divisions: [index] });
  }
  return { unions, mayDivide: (index) => divisible[index] === 1, stored };
};

/** The length of the longest beginning of two terms that can be searched for; 0 for none. */
const searchableUnits = (one: string, other: string): number => {
  if (isFilterTerm(one) || isFilterTerm(other)) return 0;
  const units = sharedBeginning(one, other);
  if (units < leastCharacters) return 0;
  // Characters are one or two units.
  if (units >= 2 * leastCharacters) return units;
  return Array.from(one.slice(0, units)).length >= leastCharacters ? units : 0;
};

/** Unites the places of neighbouring terms, over one bitmap that is used again and again. */
const createUniter = (
  profiles: number,
): ((terms: readonly TermPlaces[], range: { first: number; end: number }) => StoredPlaces) => {
  const words = new Uint32Array(Math.ceil(profiles / 32));
  const united = new Uint16Array(profiles);
  return (terms, { first, end }) => {
    for (let index = first; index < end; index += 1)
      for (const place of terms[index]?.places ?? [])
        words[place >>> 5] = (words[place >>> 5] ?? 0) | (1 << (place & 31));
    let count = 0;
    for (let word = 0; word < words.length; word += 1) {
      for (let bits = words[word] ?? 0; bits !== 0; bits &= bits - 1) {
        united[count] = word * 32 + (31 - Math.clz32(bits & -bits));
        count += 1;
      }
    }
    words.fill(0);
    return storePlaces(united.subarray(0, count), profiles);
  };
};
