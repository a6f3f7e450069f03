import { join } from 'node:path';
import { foldingVersion, isEarlierFolding } from '../query/fold-text.ts';
import { compareLeads } from '../query/lead-order.ts';
import type { Lead, LeadQuery } from '../lead-source.ts';
import { readGoneRows, type GoneRows } from './gone-rows.ts';
import { readManifest, type Manifest } from './manifest.ts';
import type { SegmentPool } from './segment-pool.ts';
import type { Segment } from './segment/open-segment.ts';
import type { RowSet } from './segment/row-set.ts';
import { SegmentDamagedError } from './segment/segment-format.ts';

/** A segment of a generation, with its rows that are not searched. */
export interface GenerationPart {
  segment: Segment;
  gone: RowSet | null;
}

/** The files a manifest names, open. Synchronous; everything on it throws SegmentDamagedError. */
export interface Generation {
  manifest: Manifest;
  base: GenerationPart;
  delta: GenerationPart | null;
  search(query: LeadQuery): Lead[];
}

/**
 * Whether an earlier version of Unicode or of the folding than this process's made a segment's terms. One that a later
 * version made is left to whoever runs that: two gateways would write it anew in turns.
 */
export const isFoldedEarlier = ({ base, delta }: Generation): boolean =>
  [base, delta].some((part) => part !== null && isEarlierFolding(part.segment.folding));

/** Whether the segments' terms were folded as the searches of this process are. */
export const isFoldedAlike = ({ base, delta }: Generation): boolean =>
  [base, delta].every((part) => part === null || part.segment.folding === foldingVersion);

/** Times that a generation is looked for: each time it was replaced while its files were opened. */
const mostAttempts = 5;

/**
 * Opens what is searched in `folder` now, out of `pool`; null when there is nothing. What was open for an earlier
 * generation stays open, for the caller to close. Throws ManifestUnreadableError or SegmentDamagedError.
 */
export const openCurrentGeneration = (folder: string, pool: SegmentPool): Generation | null => {
  for (let attempt = 1; ; attempt += 1) {
    const manifest = readManifest(folder);
    if (manifest === null) return null;
    try {
      return openGeneration(folder, { manifest, pool });
    } catch (error) {
      // The files of a generation are removed when the next one is there.
      const isReplaced = readManifest(folder)?.generation !== manifest.generation;
      if (!isReplaced || attempt === mostAttempts) throw error;
    }
  }
};

const openGeneration = (
  folder: string,
  { manifest, pool }: { manifest: Manifest; pool: SegmentPool },
): Generation => {
  const gone = readGone(folder, manifest);
  const base = { segment: openPart(pool, manifest.base), gone: gone?.base ?? null };
  const delta =
    manifest.delta === null ? null : { segment: openPart(pool, manifest.delta), gone: gone?.delta ?? null };
  return {
    manifest,
    base,
    delta,
    search: (query) => {
      const found = searchPart(base, query);
      return delta === null ? found : mergeFound(found, searchPart(delta, query)).slice(0, query.limit);
    },
  };
};

const openPart = (pool: SegmentPool, { file, profiles }: { file: string; profiles: number }): Segment => {
  const segment = pool.open(file);
  if (segment.profiles !== profiles)
    throw new SegmentDamagedError(`${file} has ${segment.profiles} profiles in place of ${profiles}`);
  return segment;
};

const readGone = (folder: string, { base, delta, gone }: Manifest): GoneRows | null => {
  if (gone === null) return null;
  const rows = readGoneRows(join(folder, gone.file), {
    base: base.profiles,
    delta: delta?.profiles ?? 0,
  });
  if (rows.base.size !== gone.base || rows.delta.size !== gone.delta)
    throw new SegmentDamagedError(`${gone.file} has other rows than the manifest says`);
  return rows;
};

const searchPart = ({ segment, gone }: GenerationPart, query: LeadQuery): Lead[] =>
  segment.search(query, gone);

/** Both are sorted, and of people who are not in the other. */
const mergeFound = (some: readonly Lead[], others: readonly Lead[]): Lead[] => {
  if (others.length === 0 || some.length === 0) return [...some, ...others];
  return [...some, ...others].sort(compareLeads);
};
