import type { Clock } from '../../kit/clock.ts';
import {
  LeadKeeperError,
  type ImportOutcome,
  type ImportRequest,
  type LeadKeeper,
  type LeadStats,
} from '../lead-keeper.ts';

export interface ImportedProfiles {
  mode: ImportRequest['mode'];
  outcome: ImportOutcome;
  /** Profiles that a replacement dropped; null: unknown, as the former profiles could not be read. */
  removed: number | null;
  durationMs: number;
}

/** Imports profiles and counts what changed. Rejects with LeadKeeperError. */
export const importProfiles = async (
  keeper: Pick<LeadKeeper, 'importLeads' | 'stats'>,
  request: ImportRequest,
  clock: Clock,
): Promise<ImportedProfiles> => {
  const { mode } = request;
  const startedAt = clock.now();
  const before = await statsBefore(keeper, mode);
  const outcome = await keeper.importLeads(request);
  const removed = mode === 'upsert' ? 0 : removedBetween(before, outcome);
  return { mode, outcome, removed, durationMs: clock.now() - startedAt };
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
