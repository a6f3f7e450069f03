import type { Lead, LeadQuery } from '../../lead-source.ts';
import { profilesIn } from '../manifest.ts';
import { manifestStamp } from '../manifest-stamp.ts';
import { isFoldedEarlier, openCurrentGeneration, type Generation } from '../open-generation.ts';
import { createSegmentPool } from '../segment-pool.ts';
import { SegmentDamagedError } from '../segment/segment-format.ts';
import type { ServedGeneration } from './messages.ts';

/** A new manifest is looked for so often. */
const lookMs = 250;
/** A generation that could not be opened is tried again after so long, if no other one comes. */
const retryMs = 5_000;

/**
 * Searches in what is current in `folder`: a new generation is noticed within a second and switched to between two
 * searches. Throws when there is none that can be opened at first; later the one before stays. Synchronous, with a
 * timer that goes on until the thread ends.
 */
export const followGenerations = (
  folder: string,
  {
    onServing,
    onNotSwitched,
  }: { onServing: (served: ServedGeneration) => void; onNotSwitched: (cause: unknown) => void },
): { search(query: LeadQuery): Lead[] } => {
  const pool = createSegmentPool(folder);
  let stamp = manifestStamp(folder);
  const first = openCurrentGeneration(folder, pool);
  if (first === null) throw new SegmentDamagedError(`there is nothing to search in ${folder}`);
  let current = first;
  let retryAtMs = Infinity;
  onServing(describe(current));

  const closeOthers = (): void =>
    pool.closeExcept([current.manifest.base.file, current.manifest.delta?.file]);

  const look = (): void => {
    const now = manifestStamp(folder);
    // Where there is none any more, the folder was taken away or is being restored.
    if (now === null || (now === stamp && performance.now() < retryAtMs)) return;
    stamp = now;
    try {
      const next = openCurrentGeneration(folder, pool);
      retryAtMs = Infinity;
      if (next === null || next.manifest.generation === current.manifest.generation) return;
      current = next;
      onServing(describe(current));
    } catch (error) {
      retryAtMs = performance.now() + retryMs;
      onNotSwitched(error);
    } finally {
      closeOthers();
    }
  };
  setInterval(look, lookMs);

  return { search: (query) => current.search(query) };
};

const describe = (generation: Generation): ServedGeneration => ({
  generation: generation.manifest.generation,
  synthetic: generation.manifest.synthetic,
  profiles: profilesIn(generation.manifest),
  isFoldedEarlier: isFoldedEarlier(generation),
});
