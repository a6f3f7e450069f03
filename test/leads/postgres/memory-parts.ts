import { compareLeads } from '../../../src/leads/query/lead-order.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { createPartBuilder, type PartBuilder } from '../../../src/leads/postgres/part/build-part.ts';
import type { Part } from '../../../src/leads/postgres/part/part.ts';
import { unitePlaces } from '../../../src/leads/postgres/part/places.ts';
import { findInBlock, startBytes, type TermBlock } from '../../../src/leads/postgres/part/term-blocks.ts';
import type { PartReader } from '../../../src/leads/postgres/read/search-parts.ts';

/** Parts held in memory in place of tables. */
export interface MemoryParts {
  parts: Part[];
  reader: PartReader;
  /** What was read so far: one entry for each call. */
  reads: string[];
}

export interface MemoryRun {
  leads: readonly Lead[];
  /** Usernames of profiles that were replaced or deleted since. */
  gone?: ReadonlySet<string>;
  partSize: number;
}

export const createMemoryParts = (runs: readonly MemoryRun[]): MemoryParts => {
  const builder = createPartBuilder();
  const built = runs.flatMap(({ leads, gone = new Set(), partSize }, run) =>
    slices(leads.toSorted(compareLeads), partSize).map((slice) => ({
      ...buildPart(builder, { leads: slice, gone }),
      run: String(run),
    })),
  );
  const stored = new Map(built.map((one, id) => [id, one]));
  const reads: string[] = [];

  const blockFor = (id: number, text: string): Uint8Array | null => {
    const wanted = startBytes(text);
    return stored.get(id)?.blocks.findLast(({ start }) => Buffer.compare(start, wanted) <= 0)?.data ?? null;
  };

  return {
    parts: built
      .map(({ part, run }, id) => ({ ...part, id, run }))
      .sort((a, b) => b.mostFollowers - a.mostFollowers),
    reads,
    reader: {
      sizePlaces: async ({ id }, conditions) => {
        reads.push(`sizes of ${conditions.length}`);
        return conditions.map(({ text }) => blockFor(id, text)?.length ?? 0);
      },
      readPlaces: async (parts, conditions) => {
        reads.push(`${conditions.length} in ${parts.length}`);
        return parts.map(({ id, profiles }) =>
          conditions.map((condition) =>
            unitePlaces(findInBlock(blockFor(id, condition.text) ?? new Uint8Array(), condition), profiles),
          ),
        );
      },
      readLeads: async (places) => {
        reads.push(`leads ${places.length}`);
        return places.flatMap(({ part, place }) => stored.get(part)?.leads[place] ?? []);
      },
    },
  };
};

const buildPart = (
  builder: PartBuilder,
  { leads, gone }: { leads: readonly Lead[]; gone: ReadonlySet<string> },
): { leads: readonly Lead[]; blocks: TermBlock[]; part: Omit<Part, 'id' | 'run'> } => {
  for (const lead of leads) builder.add(lead);
  const { profiles, fences, mostFollowers, leastFollowers, blocks } = builder.finish();
  const bits = new Uint8Array(Math.ceil(profiles / 8));
  for (const [place, { username }] of leads.entries())
    if (gone.has(username)) bits[place >>> 3] = (bits[place >>> 3] ?? 0) | (1 << (place & 7));
  return {
    leads,
    blocks: [...blocks],
    part: {
      profiles,
      fences,
      mostFollowers,
      leastFollowers,
      gone: gone.size === 0 ? null : bits,
      hasErased: false,
    },
  };
};

const slices = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  );
