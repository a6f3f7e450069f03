import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Lead, LeadQuery } from '../../lead-source.ts';
import { countFacets } from '../count-facets.ts';
import { ManifestUnreadableError, manifestFile, profilesIn, readManifest } from '../manifest.ts';
import { isFoldedAlike, openCurrentGeneration, type Generation } from '../open-generation.ts';
import { createSegmentPool, fileIdentity } from '../segment-pool.ts';
import { SegmentDamagedError } from '../segment/segment-format.ts';
import type { ReadEvent, ServedGeneration } from './messages.ts';

/** The interval of looking for a new manifest. */
const lookMs = 250;
/** The retry delay for a generation that could not be opened, unless another one appears. */
const retryMs = 5_000;

/**
 * Searches the current generation of `folder`. A new generation, or other files under the same names, is noticed within
 * a second and used between two searches. Throws if the first one cannot be opened. Later, the former generation stays
 * in use. But fictional profiles are dropped when real ones should be there, and never replace real ones. Synchronous,
 * with a timer that runs until the thread ends or `onGivenUp` is called.
 */
export const followGenerations = (
  folder: string,
  { tell, onGivenUp }: { tell: (event: ReadEvent) => void; onGivenUp: (cause: unknown) => void },
): { search(query: LeadQuery): Lead[] } => {
  const pool = createSegmentPool(folder);
  const first = openCurrentGeneration(folder, pool);
  if (first === null) throw new SegmentDamagedError(`there is nothing to search in ${folder}`);
  let current = first;
  let retryAtMs = Infinity;
  let stamp: string | null = null;
  const tellNotSwitched = (cause: unknown): void => tell({ kind: 'not-switched', cause: String(cause) });
  tell({ kind: 'serving', served: describe(first) });

  const closeOthers = (): void => pool.closeExcept([current.base.segment, current.delta?.segment]);

  const look = (): void => {
    const now = stampOf(folder, current);
    // Without a manifest the folder was removed or is being restored.
    if (now === null || (now === stamp && performance.now() < retryAtMs)) return;
    stamp = now;
    try {
      const next = openCurrentGeneration(folder, pool);
      retryAtMs = Infinity;
      if (next === null || isSame(next, current)) return;
      if (next.manifest.synthetic && !current.manifest.synthetic)
        return tellNotSwitched(new Error('fictional profiles do not replace real ones'));
      const served = describe(next);
      current = next;
      tell({ kind: 'serving', served });
    } catch (error) {
      if (current.manifest.synthetic && !isSynthetic(folder)) return giveUp(error);
      retryAtMs = performance.now() + retryMs;
      tellNotSwitched(error);
    } finally {
      closeOthers();
    }
  };
  const looking = setInterval(look, lookMs);
  const giveUp = (cause: unknown): void => {
    clearInterval(looking);
    onGivenUp(cause);
  };

  return { search: (query) => current.search(query) };
};

/** Returns a value that changes with the manifest or a segment of `generation`; null without a manifest. */
const stampOf = (folder: string, { manifest: { base, delta } }: Generation): string | null => {
  const manifest = statSync(manifestFile(folder), { throwIfNoEntry: false, bigint: true });
  if (manifest === undefined) return null;
  const files = delta === null ? [base.file] : [base.file, delta.file];
  const { ino, mtimeNs, size } = manifest;
  return [ino, mtimeNs, size, ...files.map((file) => fileIdentity(join(folder, file)))].join('\n');
};

const isSame = (one: Generation, other: Generation): boolean =>
  one.manifest.generation === other.manifest.generation &&
  one.base.segment === other.base.segment &&
  one.delta?.segment === other.delta?.segment;

/** Returns true if fictional profiles should be searched. An unreadable manifest may name real ones. */
const isSynthetic = (folder: string): boolean => {
  try {
    return readManifest(folder)?.synthetic !== false;
  } catch (error) {
    if (error instanceof ManifestUnreadableError) return false;
    throw error;
  }
};

const describe = (generation: Generation): ServedGeneration => ({
  generation: generation.manifest.generation,
  synthetic: generation.manifest.synthetic,
  profiles: profilesIn(generation.manifest),
  facets: countFacets(generation),
  isFoldedAlike: isFoldedAlike(generation),
});
