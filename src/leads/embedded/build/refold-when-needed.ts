import type { Log } from '../../../kit/log.ts';
import type { ServedGeneration } from '../read/messages.ts';
import { runBuild, type RunBuildInput } from './run-build.ts';

export interface Refolding {
  /** Call it with each generation that is served. */
  served(generation: ServedGeneration): void;
  /** Resolves when nothing is running. */
  ended(): Promise<void>;
}

/**
 * Rewrites the served words in the background if an earlier version folded them, once per generation. A failure is
 * logged and retried at the next start.
 */
export const createRefolding = (options: Omit<RunBuildInput, 'job'>): Refolding => {
  const { folder, signal, log } = options;
  let last: string | null = null;
  let underWay = Promise.resolve();
  const served = ({ isFoldedEarlier, generation }: ServedGeneration): void => {
    if (!isFoldedEarlier || generation === last || signal.aborted) return;
    last = generation;
    log.info(
      { folder },
      'the profiles are being reindexed for this version, which takes about as much disk space again',
    );
    underWay = Promise.all([underWay, refold(options, log)]).then(() => undefined);
  };
  return { served, ended: () => underWay };
};

const refold = async (options: Omit<RunBuildInput, 'job'>, log: Log): Promise<void> => {
  try {
    await runBuild({ ...options, job: { kind: 'refold' } });
  } catch (err) {
    if (!options.signal.aborted)
      log.error(
        { err },
        'the profiles could not be reindexed; searches work except for rare letters; the next start tries again',
      );
  }
};
