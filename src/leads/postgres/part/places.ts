import { varintBytes, writeVarint } from './bytes.ts';

/** Profiles of one part by their places in it, in the form that takes fewer bytes. */
export interface StoredPlaces {
  /** A list is the differences between ascending places, as varints; a bitmap has a bit for each profile of the part. */
  form: 'list' | 'bitmap';
  bytes: Uint8Array;
}

export const storePlaces = (places: Uint16Array, profiles: number): StoredPlaces => {
  const bitmapBytes = Math.ceil(profiles / 8);
  const listBytes = places.length < bitmapBytes ? countListBytes(places) : Infinity;
  if (listBytes >= bitmapBytes) return { form: 'bitmap', bytes: toBits(places, bitmapBytes) };
  const bytes = Buffer.allocUnsafe(listBytes);
  let at = 0;
  let last = 0;
  for (const place of places) {
    at = writeVarint(bytes, { value: place - last, at });
    last = place;
  }
  return { form: 'list', bytes };
};

const countListBytes = (places: Uint16Array): number => {
  let bytes = 0;
  let last = 0;
  for (const place of places) {
    bytes += varintBytes(place - last);
    last = place;
  }
  return bytes;
};

/** The places, ascending. */
export const readPlaces = ({ form, bytes }: StoredPlaces): Uint16Array =>
  form === 'list' ? readList(bytes) : readBits(bytes);

const readList = (bytes: Uint8Array): Uint16Array => {
  // A place takes a byte at least.
  const places = new Uint16Array(bytes.length);
  let count = 0;
  let place = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    let byte = bytes[index] ?? 0;
    let difference = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      index += 1;
      byte = bytes[index] ?? 0;
      difference |= (byte & 0x7f) << shift;
    }
    place += difference;
    places[count] = place;
    count += 1;
  }
  return places.subarray(0, count);
};

const readBits = (bytes: Uint8Array): Uint16Array => {
  const words = wordsOf(bytes);
  const places = new Uint16Array(countBits(bytes));
  let count = 0;
  for (let word = 0; word < words.length; word += 1) {
    // Most are empty, and only bytes are in the same order on every machine.
    if (words[word] === 0) continue;
    for (let index = word * 4; index < word * 4 + 4; index += 1) {
      for (let bits = bytes[index] ?? 0; bits !== 0; bits &= bits - 1) {
        places[count] = index * 8 + 31 - Math.clz32(bits & -bits);
        count += 1;
      }
    }
  }
  return places;
};

/** How many bits of `bytes` are set. */
export const countBits = (bytes: Uint8Array): number => {
  const words = wordsOf(bytes);
  let count = 0;
  for (let index = 0; index < words.length; index += 1) {
    let bits = words[index] ?? 0;
    if (bits === 0) continue;
    bits -= (bits >>> 1) & 0x55555555;
    bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
    count += Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
  }
  return count;
};

/** The bytes four at a time, filled up with zeros; a view of them where they lie so that they can be one. */
export const wordsOf = (bytes: Uint8Array): Uint32Array => {
  if (bytes.byteOffset % 4 === 0 && bytes.length % 4 === 0)
    return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const copy = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
  copy.set(bytes);
  return new Uint32Array(copy.buffer);
};

/**
 * The same in the form that is quicker to look places up in: a bitmap, unless the list is so short that this would take
 * more than four times the bytes.
 */
export const quickenPlaces = (places: StoredPlaces, profiles: number): StoredPlaces => {
  const bitmapBytes = Math.ceil(profiles / 8);
  if (places.form === 'bitmap' || places.bytes.length * 4 < bitmapBytes) return places;
  const bits = new Uint8Array(bitmapBytes);
  markListed(bits, places.bytes);
  return { form: 'bitmap', bytes: bits };
};

/** Sets the bits of the places of a list, given by its bytes, until one lies behind the end of `bits`. */
export const markListed = (bits: Uint8Array, list: Uint8Array): void => {
  let place = 0;
  for (let index = 0; index < list.length; index += 1) {
    let byte = list[index] ?? 0;
    let difference = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      index += 1;
      byte = list[index] ?? 0;
      difference |= (byte & 0x7f) << shift;
    }
    place += difference;
    const at = place >>> 3;
    if (at >= bits.length) return;
    bits[at] = (bits[at] ?? 0) | (1 << (place & 7));
  }
};

const toBits = (places: Uint16Array, bitmapBytes: number): Uint8Array => {
  const bits = new Uint8Array(bitmapBytes);
  for (const place of places) bits[place >>> 3] = (bits[place >>> 3] ?? 0) | (1 << (place & 7));
  return bits;
};

export const hasBit = (bits: Uint8Array, place: number): boolean =>
  (((bits[place >>> 3] ?? 0) >>> (place & 7)) & 1) === 1;

/** The places that stand in at least one of `sets`, of a part with so many profiles. */
export const unitePlaces = (sets: readonly StoredPlaces[], profiles: number): StoredPlaces => {
  const [only] = sets;
  if (only !== undefined && sets.length === 1) return only;
  const all = new Set<number>();
  for (const set of sets) for (const place of readPlaces(set)) all.add(place);
  return storePlaces(Uint16Array.from(all).sort(), profiles);
};
