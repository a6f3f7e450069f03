import { fenceDistance } from './build-part.ts';
import type { PlaceRange } from './match-places.ts';

/**
 * Neighbours in the order of results, with inverted lists of their own. A profile's place in its part never changes;
 * one that is updated or deleted is marked as gone, and its new version is in another part.
 */
export interface Part {
  /** Ascending in the order in which parts were made. */
  id: number;
  /**
   * What was made at one time: parts of one run do not overlap and follow each other. A UUID: `run` and `id` together
   * never come again, though ids alone do where a backup was put back.
   */
  run: string;
  profiles: number;
  /** build-part.ts */
  fences: Float64Array;
  mostFollowers: number;
  leastFollowers: number;
  /** A bit for each place; null when none is gone. */
  gone: Uint8Array | null;
  /** Whether its lists may still have words of people who were forgotten: it is to be made anew. */
  hasErased: boolean;
}

export interface FollowerRange {
  least: number;
  most: number;
}

/**
 * The places of `part` that can have followers in `range`. Profiles at both ends, fewer than the distance between two
 * fences each, may lie outside: `outside` is how many at the beginning.
 */
export const placesBetween = (part: Part, range: FollowerRange): PlaceRange & { outside: number } => {
  const above = countWhere(part.fences, (followers) => followers > range.most);
  const notBelow = countWhere(part.fences, (followers) => followers >= range.least);
  return {
    from: Math.max(above - 1, 0) * fenceDistance,
    to: Math.min(notBelow * fenceDistance, part.profiles),
    outside: above === 0 ? 0 : fenceDistance,
  };
};

/** What is known of the followers of the profile at `place` without reading it. */
export const followersAt = (part: Part, place: number): FollowerRange => {
  const fence = Math.floor(place / fenceDistance);
  return {
    most: part.fences[fence] ?? part.mostFollowers,
    least: part.fences[fence + 1] ?? part.leastFollowers,
  };
};

/** How many of `fences`, which descend, fulfil a condition that only the first ones do. */
const countWhere = (fences: Float64Array, fulfils: (followers: number) => boolean): number => {
  let [from, to] = [0, fences.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (fulfils(fences[middle] ?? 0)) from = middle + 1;
    else to = middle;
  }
  return from;
};
