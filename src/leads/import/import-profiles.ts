import type { Clock } from '../../kit/clock.ts';
import {
  LeadKeeperError,
  type ImportOutcome,
  type ImportProgress,
  type ImportRequest,
  type LeadKeeper,
  type LeadStats,
} from '../lead-keeper.ts';

export interface ImportedProfiles {
  mode: ImportRequest['mode'];
  isResumed: boolean;
  outcome: ImportOutcome;
  /** Profiles that a replacement dropped; null: unknown, as the former profiles could not be read. */
  removed: number | null;
  durationMs: number;
}

export interface ImportOptions extends ImportRequest {
  clock: Clock;
  /** Called before the rows of another, unfinished import are discarded. */
  onDiscard?: (rows: number) => void;
}

/** Imports profiles and counts what changed. Rejects with LeadKeeperError. */
export const importProfiles = async (
  keeper: Pick<LeadKeeper, 'importLeads' | 'stats'>,
  { clock, onDiscard, onProgress, ...request }: ImportOptions,
): Promise<ImportedProfiles> => {
  const { mode } = request;
  const startedAt = clock.now();
  const before = await statsBefore(keeper, mode);
  let isResumed = false;
  let discardedRows = before?.unfinished?.rows ?? 0;
  const tell = (told: ImportProgress): void => {
    if (told.phase === 'reading' || told.phase === 'indexing') {
      isResumed = told.isResumed;
      if (!isResumed && discardedRows > 0) onDiscard?.(discardedRows);
      discardedRows = 0;
    }
    onProgress?.(told);
  };
  const outcome = await keeper.importLeads({ ...request, onProgress: tell });
  const removed = mode === 'upsert' ? 0 : removedBetween(before, outcome);
  return { mode, isResumed, outcome, removed, durationMs: clock.now() - startedAt };
};

/** Null: the stats cannot be read, and all profiles are to be replaced. Throws LeadKeeperError. */
const statsBefore = async (
  keeper: Pick<LeadKeeper, 'stats'>,
  mode: ImportRequest['mode'],
): Promise<LeadStats | null> => {
  try {
    return await keeper.stats();
  } catch (error) {
    if (mode === 'replace' && error instanceof LeadKeeperError && error.problem === 'damaged') return null;
    throw error;
  }
};

const removedBetween = (before: LeadStats | null, { added, profiles }: ImportOutcome): number | null => {
  if (before === null) return null;
  const known = before.synthetic ? 0 : before.profiles;
  return Math.max(0, known + added - profiles);
};
