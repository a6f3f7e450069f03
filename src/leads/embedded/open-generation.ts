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

/** A segment of a generation, with the rows to skip. */
export interface GenerationPart {
  segment: Segment;
  gone: RowSet | null;
}

/** The open files of a manifest. Synchronous. Every method throws SegmentDamagedError. */
export interface Generation {
  manifest: Manifest;
  base: GenerationPart;
  delta: GenerationPart | null;
  search(query: LeadQuery): Lead[];
}

/**
 * Returns true if a segment's terms were folded by an earlier version of Unicode or of the folding. A segment of a
 * later version is left alone: two gateways would otherwise rewrite it in turns.
 */
export const isFoldedEarlier = ({ base, delta }: Generation): boolean =>
  [base, delta].some((part) => part !== null && isEarlierFolding(part.segment.folding));

/** Returns true if the segments' terms are folded like the searches of this process. */
export const isFoldedAlike = ({ base, delta }: Generation): boolean =>
  [base, delta].every((part) => part === null || part.segment.folding === foldingVersion);

/** Attempts to open a generation. Each failed one was replaced while its files were being opened. */
const maxAttempts = 5;

/**
 * Opens the current generation of `folder` from `pool`; null if there is none. Files of an earlier generation stay
 * open, for the caller to close. Throws ManifestUnreadableError or SegmentDamagedError.
 */
export const openCurrentGeneration = (folder: string, pool: SegmentPool): Generation | null => {
  for (let attempt = 1; ; attempt += 1) {
    const manifest = readManifest(folder);
    if (manifest === null) return null;
    try {
      return openGeneration(folder, { manifest, pool });
    } catch (error) {
      // The files of a generation are removed after the next one is published.
      const isReplaced = readManifest(folder)?.generation !== manifest.generation;
      if (!isReplaced || attempt === maxAttempts) throw error;
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
    throw new SegmentDamagedError(`${gone.file} does not match the manifest`);
  return rows;
};

const searchPart = ({ segment, gone }: GenerationPart, query: LeadQuery): Lead[] =>
  segment.search(query, gone);

/** Both are sorted and have no person in common. */
const mergeFound = (some: readonly Lead[], others: readonly Lead[]): Lead[] => {
  if (others.length === 0 || some.length === 0) return [...some, ...others];
  return [...some, ...others].sort(compareLeads);
};
