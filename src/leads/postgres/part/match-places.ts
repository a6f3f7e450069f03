import { hasBit, markListed, readPlaces, wordsOf, type StoredPlaces } from './places.ts';

/**
 * The places, ascending, of `among` (null: of all) that stand in each of `sets`, of which there is one at least. The
 * shortest is read as a whole; the others only tell which of those stay.
 */
export const narrowPlaces = (among: Uint16Array | null, sets: readonly StoredPlaces[]): Uint16Array => {
  const [shortest, ...others] = sets.toSorted(byForm);
  if (shortest === undefined) return among ?? new Uint16Array();
  if (among === null && shortest.form === 'bitmap') return readPlaces(intersectBitmaps(sets));
  const places = among?.slice() ?? readPlaces(shortest);
  let count = places.length;
  for (const set of among === null ? others : [shortest, ...others])
    count = set.form === 'list' ? keepListed(places, count, set.bytes) : keepMarked(places, count, set.bytes);
  return places.subarray(0, count);
};

/** Lists before bitmaps, short before long. */
const byForm = (a: StoredPlaces, b: StoredPlaces): number =>
  Number(a.form === 'bitmap') - Number(b.form === 'bitmap') || a.bytes.length - b.bytes.length;

const intersectBitmaps = (sets: readonly StoredPlaces[]): StoredPlaces => {
  const bytes = new Uint8Array(Math.ceil((sets[0]?.bytes.length ?? 0) / 4) * 4);
  bytes.set(sets[0]?.bytes ?? []);
  const words = new Uint32Array(bytes.buffer);
  for (const other of sets.slice(1)) {
    const otherWords = wordsOf(other.bytes);
    for (let index = 0; index < words.length; index += 1)
      words[index] = (words[index] ?? 0) & (otherWords[index] ?? 0);
  }
  return { form: 'bitmap', bytes };
};

/** Moves those of the first `count` places that `bits` has to the front, and answers how many they are. */
const keepMarked = (places: Uint16Array, count: number, bits: Uint8Array): number => {
  let kept = 0;
  for (let index = 0; index < count; index += 1) {
    const place = places[index] ?? 0;
    if (!hasBit(bits, place)) continue;
    places[kept] = place;
    kept += 1;
  }
  return kept;
};

/**
 * The same with the bytes of a list. It is turned to a bitmap first: to walk along both at once would cost several times
 * as much, as no processor can guess which one goes on.
 */
const keepListed = (places: Uint16Array, count: number, bytes: Uint8Array): number => {
  const last = places[count - 1] ?? 0;
  const bits = new Uint8Array((last >>> 3) + 1);
  markListed(bits, bytes);
  return keepMarked(places, count, bits);
};

export interface PlaceRange {
  /** The first place. */
  from: number;
  /** Behind the last one. */
  to: number;
}

/** The first `most` places of `range`, ascending, of `among` (null: of all) that are not `gone`. */
export const firstPlaces = (
  among: Uint16Array | null,
  { range, most, gone }: { range: PlaceRange; most: number; gone: Uint8Array | null },
): number[] => {
  const found: number[] = [];
  const end = among?.length ?? range.to;
  for (let index = among === null ? range.from : 0; index < end && found.length < most; index += 1) {
    const place = among === null ? index : (among[index] ?? 0);
    if (place >= range.to) break;
    if (place >= range.from && (gone === null || !hasBit(gone, place))) found.push(place);
  }
  return found;
};
