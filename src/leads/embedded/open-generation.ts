import { join } from 'node:path';
import { foldingVersion } from '../query/fold-text.ts';
import { compareLeads } from '../query/lead-order.ts';
import type { Lead, LeadQuery } from '../lead-source.ts';
import { readGoneRows, type GoneRows } from './gone-rows.ts';
import { readManifest, type Manifest } from './manifest.ts';
import type { SegmentPool } from './segment-pool.ts';
import type { Segment } from './segment/open-segment.ts';
import type { RowSet } from './segment/row-set.ts';
import { SegmentDamagedError } from './segment/segment-format.ts';

export interface GenerationPart {
  segment: Segment;
  gone: RowSet | null;
}

/** The open files of a manifest. Synchronous. Everything throws SegmentDamagedError. */
export type Generation = ReturnType<typeof openGeneration>;

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

const openGeneration = (folder: string, { manifest, pool }: { manifest: Manifest; pool: SegmentPool }) => {
  const gone = readGone(folder, manifest);
  const base: GenerationPart = { segment: openPart(pool, manifest.base), gone: gone?.base ?? null };
  const delta: GenerationPart | null =
    manifest.delta === null ? null : { segment: openPart(pool, manifest.delta), gone: gone?.delta ?? null };
  return {
    manifest,
    base,
    delta,
    search: (query: LeadQuery): Lead[] => {
      const found = base.segment.search(query, base.gone);
      const others = delta === null ? [] : delta.segment.search(query, delta.gone);
      if (others.length === 0) return found;
      // Each is sorted, and they have no person in common.
      return [...found, ...others].sort(compareLeads).slice(0, query.limit);
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
