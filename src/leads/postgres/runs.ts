import { profilesTable } from './generation-tables.ts';
import type { PlacesByPart } from './gone-places.ts';
import type { LeadsClient } from './leads-database.ts';
import type { Part } from './part/part.ts';
import { countBits, hasBit } from './part/places.ts';
import { readStoredLeads } from './read-rows.ts';
import type { StoredLead } from './stored-lead.ts';

/** Parts that follow each other, made at one time. */
export interface Run {
  /** In the order of results. */
  parts: Part[];
  /** Those that are not gone. */
  profiles: number;
  gone: number;
  /** Whether any of its parts has (part/part.ts). */
  hasErased: boolean;
}

/** The runs that `parts` make, when the profiles at the places `without` are gone too. */
export const runsOf = (parts: readonly Part[], without: PlacesByPart): Run[] => {
  const runs = new Map<string, Run>();
  for (const part of parts.toSorted((a, b) => a.id - b.id)) {
    const run = runs.get(part.run) ?? { parts: [], profiles: 0, gone: 0, hasErased: false };
    const gone = countGone(part.gone) + countGone(without.get(part.id) ?? null);
    run.parts.push(part);
    run.gone += gone;
    run.hasErased ||= part.hasErased;
    run.profiles += part.profiles - gone;
    runs.set(part.run, run);
  }
  return [...runs.values()];
};

const countGone = (bits: Uint8Array | null): number => (bits === null ? 0 : countBits(bits));

/**
 * The runs to be made anew together with `added` new profiles, so that a search never has many runs to look into:
 * each that still has words of forgotten people, each of which a quarter is gone, and each that is not much larger than
 * what is written anyway. So runs grow by more than this factor from one to the next, and a profile is written again a
 * few times at most until it is in the largest.
 */
export const runsToRewrite = (runs: readonly Run[], added: number): Run[] => {
  const largestFactor = 4;
  let written = runs.filter(isDue).reduce((sum, { profiles }) => sum + profiles, added);
  return runs
    .toSorted((a, b) => a.profiles - b.profiles)
    .filter((run) => {
      if (isDue(run)) return true;
      if (run.profiles > written * largestFactor) return false;
      written += run.profiles;
      return true;
    });
};

const isDue = ({ profiles, gone, hasErased }: Run): boolean => hasErased || gone * 4 > profiles + gone;

/** The profiles of a run in the order of results, those at the places `without` left out. */
export async function* readRun(
  client: LeadsClient,
  { run, generation, without }: { run: Run; generation: number; without: PlacesByPart },
): AsyncGenerator<StoredLead[]> {
  for (const part of run.parts) {
    const left = without.get(part.id) ?? null;
    yield* readStoredLeads(client, {
      select: `select person::text, lead, place from ${profilesTable.name(generation)}
               where part = ${part.id} order by place`,
      isWanted: (place) => left === null || !hasBit(left, place),
    });
  }
}
