import { setImmediate } from 'node:timers/promises';
import { compareLeads } from '../../query/lead-order.ts';
import type { Lead, LeadQuery } from '../../lead-source.ts';
import type { QueryTerm } from '../../query/search-terms.ts';
import { firstPlaces, narrowPlaces } from '../part/match-places.ts';
import { queryConditions } from '../../query/index-terms.ts';
import { followersAt, placesBetween, type FollowerRange, type Part } from '../part/part.ts';
import type { StoredPlaces } from '../part/places.ts';

/** A profile by where it stands. */
export interface Place {
  part: number;
  place: number;
}

/** What a search reads. */
export interface PartReader {
  /** How long what `readPlaces` would read for each of `conditions` is, roughly, in bytes. */
  sizePlaces(part: Part, conditions: readonly QueryTerm[]): Promise<number[]>;
  /** Who meets `conditions`: by part, then by condition. */
  readPlaces(parts: readonly Part[], conditions: readonly QueryTerm[]): Promise<StoredPlaces[][]>;
  /** The profiles at `places`, in any order. */
  readLeads(places: readonly Place[]): Promise<Lead[]>;
}

/**
 * How many parts are looked into at once, round after round: most searches end with the first parts, which have the
 * most followers; those that find little look into all in a few rounds.
 */
const roundParts = [1, 3, 12, 48];

/** Something that can be a result; what is known of its followers stands between two numbers. */
interface Candidate extends Place {
  followers: FollowerRange;
}

/**
 * The first `query.limit` profiles of `parts` that match. `parts` stand in the order of their most followers,
 * descending; they may overlap. Reads each list once at most, and profiles only when it is known which can be results.
 */
export const searchParts = async (
  query: LeadQuery,
  { parts, reader }: { parts: readonly Part[]; reader: PartReader },
): Promise<Lead[]> => {
  const conditions = queryConditions(query);
  const range: FollowerRange = { least: query.minFollowers ?? 0, most: query.maxFollowers ?? Infinity };
  const eligible =
    conditions === null || range.least > range.most
      ? []
      : parts.filter((part) => part.leastFollowers <= range.most && part.mostFollowers >= range.least);

  const ordered = await rarestFirst(conditions ?? [], { parts: eligible, reader });
  let candidates: Candidate[] = [];
  let next = 0;
  for (let round = 0; next < eligible.length; round += 1) {
    const looked = eligible.slice(next, next + (roundParts[round] ?? roundParts.at(-1) ?? 1));
    next += looked.length;
    const found = await findCandidates(looked, { conditions: ordered, range, query, reader });
    candidates = mostPromising([...candidates, ...found], { range, limit: query.limit });
    const following = eligible[next]?.mostFollowers ?? -1;
    const ahead = candidates.filter(
      (candidate) => isSure(candidate, range) && candidate.followers.least > following,
    );
    if (ahead.length >= query.limit) break;
  }
  const leads = await reader.readLeads(candidates);
  return leads
    .filter(({ followers }) => followers >= range.least && followers <= range.most)
    .sort(compareLeads)
    .slice(0, query.limit);
};

interface SearchInput {
  conditions: readonly QueryTerm[];
  range: FollowerRange;
  query: LeadQuery;
  reader: PartReader;
}

/**
 * How many conditions are looked at in each step, the rarest first. These decide most searches with many words: more is
 * read only where something meets all before.
 */
const stepConditions = [3, 2, 3, 8, 8];
/** Longer than this a search does not keep others waiting. */
const sliceMs = 3;

/** A part that may hold results, and who of it meets the conditions so far; null for all. */
interface Look {
  part: Part;
  places: Uint16Array | null;
}

const findCandidates = async (
  parts: readonly Part[],
  { conditions, range, query, reader }: SearchInput,
): Promise<Candidate[]> => {
  let looks = parts.map((part): Look => ({ part, places: null }));
  let next = 0;
  for (let step = 0; next < conditions.length && looks.length > 0; step += 1) {
    const asked = conditions.slice(next, next + (stepConditions[step] ?? conditions.length));
    next += asked.length;
    looks = await narrowLooks(looks, { conditions: asked, range, reader });
  }
  return looks.flatMap((look) =>
    firstMatches(look, { range, most: query.limit }).map((place) => ({
      part: look.part.id,
      place,
      followers: followersAt(look.part, place),
    })),
  );
};

/**
 * `conditions` as often as they are met, by what one part has: a word that is rare in one is rare in the others. Few
 * conditions are read at once in any case.
 */
const rarestFirst = async (
  conditions: readonly QueryTerm[],
  { parts, reader }: { parts: readonly Part[]; reader: PartReader },
): Promise<readonly QueryTerm[]> => {
  const [largest] = parts.toSorted((a, b) => b.profiles - a.profiles);
  if (largest === undefined || conditions.length <= (stepConditions[0] ?? 0)) return conditions;
  const sizes = await reader.sizePlaces(largest, conditions);
  return conditions
    .map((condition, index) => ({ condition, size: sizes[index] ?? 0 }))
    .sort((a, b) => a.size - b.size)
    .map(({ condition }) => condition);
};

/** Those of `looks` in which somebody meets `conditions` too. */
const narrowLooks = async (
  looks: readonly Look[],
  { conditions, range, reader }: Omit<SearchInput, 'query'>,
): Promise<Look[]> => {
  const sets = await reader.readPlaces(
    looks.map(({ part }) => part),
    conditions,
  );
  const narrowed: Look[] = [];
  let sliceEndsAt = performance.now() + sliceMs;
  for (const [index, { part, places }] of looks.entries()) {
    const look = { part, places: narrowPlaces(places, sets[index] ?? []) };
    if (firstMatches(look, { range, most: 1 }).length > 0) narrowed.push(look);
    if (performance.now() < sliceEndsAt) continue;
    await setImmediate();
    sliceEndsAt = performance.now() + sliceMs;
  }
  return narrowed;
};

/** The first places that can be results as far as is known, and before them those whose followers are not known. */
const firstMatches = (
  { part, places }: Look,
  { range, most }: { range: FollowerRange; most: number },
): number[] => {
  const between = placesBetween(part, range);
  return firstPlaces(places, { range: between, most: most + between.outside, gone: part.gone });
};

/** Whether it certainly has followers in `range`. */
const isSure = ({ followers }: Candidate, range: FollowerRange): boolean =>
  followers.least >= range.least && followers.most <= range.most;

/** Without those that enough others are certainly ahead of. */
const mostPromising = (
  candidates: readonly Candidate[],
  { range, limit }: { range: FollowerRange; limit: number },
): Candidate[] => {
  const sure = candidates
    .filter((candidate) => isSure(candidate, range))
    .map(({ followers }) => followers.least)
    .sort((a, b) => b - a);
  const bar = sure[limit - 1] ?? -1;
  return candidates.filter(({ followers }) => followers.most >= bar);
};
