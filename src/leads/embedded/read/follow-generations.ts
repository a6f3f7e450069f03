import { join } from 'node:path';
import type { Lead, LeadQuery } from '../../lead-source.ts';
import { ManifestUnreadableError, profilesIn, readManifest } from '../manifest.ts';
import { manifestStamp } from '../manifest-stamp.ts';
import { isFoldedEarlier, openCurrentGeneration, type Generation } from '../open-generation.ts';
import { createSegmentPool, fileIdentity } from '../segment-pool.ts';
import { SegmentDamagedError } from '../segment/segment-format.ts';
import type { ServedGeneration } from './messages.ts';

/** A new manifest is looked for so often. */
const lookMs = 250;
/** A generation that could not be opened is tried again after so long, if no other one comes. */
const retryMs = 5_000;

/**
 * Searches in what is current in `folder`: a new generation, or other files under the names of this one's, are noticed
 * within a second and switched to between two searches. Throws when there is none that can be opened at first; later the
 * one before stays, but that fictional profiles are given up where real ones are meant to be, and take no real ones'
 * place. Synchronous, with a timer that goes on until the thread ends or `onGivenUp` was told.
 */
export const followGenerations = (
  folder: string,
  {
    onServing,
    onNotSwitched,
    onGivenUp,
  }: {
    onServing: (served: ServedGeneration) => void;
    onNotSwitched: (cause: unknown) => void;
    onGivenUp: (cause: unknown) => void;
  },
): { search(query: LeadQuery): Lead[] } => {
  const pool = createSegmentPool(folder);
  const first = openCurrentGeneration(folder, pool);
  if (first === null) throw new SegmentDamagedError(`there is nothing to search in ${folder}`);
  let current = first;
  let retryAtMs = Infinity;
  let stamp: string | null = null;
  onServing(describe(current));

  const closeOthers = (): void => pool.closeExcept([current.base.segment, current.delta?.segment]);

  const look = (): void => {
    const now = stampOf(folder, current);
    // Where there is no manifest any more, the folder was taken away or is being restored.
    if (now === null || (now === stamp && performance.now() < retryAtMs)) return;
    stamp = now;
    try {
      const next = openCurrentGeneration(folder, pool);
      retryAtMs = Infinity;
      if (next === null || isSame(next, current)) return;
      if (next.manifest.synthetic && !current.manifest.synthetic)
        return onNotSwitched(new Error('fictional profiles do not replace real ones'));
      current = next;
      onServing(describe(current));
    } catch (error) {
      if (current.manifest.synthetic && !isSynthetic(folder)) return giveUp(error);
      retryAtMs = performance.now() + retryMs;
      onNotSwitched(error);
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

/** Another one when the manifest or a segment of `generation` was replaced; null where there is no manifest. */
const stampOf = (folder: string, { manifest: { base, delta } }: Generation): string | null => {
  const manifest = manifestStamp(folder);
  if (manifest === null) return null;
  const files = delta === null ? [base.file] : [base.file, delta.file];
  return [manifest, ...files.map((file) => fileIdentity(join(folder, file)))].join('\n');
};

const isSame = (one: Generation, other: Generation): boolean =>
  one.manifest.generation === other.manifest.generation &&
  one.base.segment === other.base.segment &&
  one.delta?.segment === other.delta?.segment;

/** Whether fictional profiles are what is meant to be searched; those of a manifest that cannot be read may be real. */
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
  isFoldedEarlier: isFoldedEarlier(generation),
});
