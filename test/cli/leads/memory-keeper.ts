import { compareLeads } from '../../../src/leads/query/lead-filters.ts';
import {
  LeadIndexError,
  toOutcome,
  type ImportOutcome,
  type ImportRequest,
  type LeadIndex,
} from '../../../src/leads/lead-index.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { usernameKey } from '../../../src/leads/query/fold-text.ts';

/** A keeper of profiles in memory, which outlives its closing as the real ones do. */
export interface MemoryKeeper extends LeadIndex {
  profiles: Map<string, Lead>;
  isBusy: boolean;
  isDamaged: boolean;
  /** Told after each batch that was read. */
  onRead: () => void;
  opened: number;
  closed: number;
}

/** Takes all profiles over at the end, as LeadIndex says. */
export const createMemoryKeeper = (leads: readonly Lead[] = []): MemoryKeeper => {
  const forgotten = new Set<string>();

  const readAll = async ({ input, onProgress, signal }: ImportRequest): Promise<Lead[]> => {
    const read: Lead[] = [];
    for await (const batch of input.read({ signal })) {
      read.push(...batch);
      onProgress?.({ phase: 'reading', done: read.length, total: null });
      keeper.onRead();
      signal.throwIfAborted();
    }
    return read;
  };

  const takeOver = (rows: Lead[], mode: ImportRequest['mode']): ImportOutcome => {
    const before = keeper.profiles;
    const taken = new Map(rows.map((lead) => [usernameKey(lead.username), lead]));
    const left = rows.filter(({ username }) => forgotten.has(usernameKey(username))).length;
    const repeated = rows.length - taken.size;
    for (const key of forgotten) taken.delete(key);
    keeper.profiles = new Map(mode === 'replace' ? taken : [...before, ...taken]);
    const updated = [...taken.keys()].filter((key) => before.has(key)).length;
    const added = taken.size - updated;
    const counted = { rows: rows.length, added, updated, repeated, forgotten: left };
    const outcome = toOutcome(counted, { mode, profiles: keeper.profiles.size, before: before.size });
    const { isDamaged } = keeper;
    keeper.isDamaged = false;
    return isDamaged ? { ...outcome, removed: null } : outcome;
  };

  const keeper: MemoryKeeper = {
    profiles: new Map(leads.map((lead) => [usernameKey(lead.username), lead])),
    isBusy: false,
    isDamaged: false,
    onRead: () => {},
    opened: 0,
    closed: 0,
    importLeads: async (request) => {
      if (keeper.isBusy) throw new LeadIndexError('busy', 'Another import is under way.');
      if (keeper.isDamaged && request.mode === 'upsert')
        throw new LeadIndexError('damaged', 'The index is damaged.');
      return takeOver(await readAll(request), request.mode);
    },
    stats: async () => {
      if (keeper.isDamaged) throw new LeadIndexError('damaged', 'The index is damaged.');
      return {
        profiles: keeper.profiles.size,
        synthetic: false,
        forgotten: forgotten.size,
        bytes: 1_234_567,
        updatedAt: keeper.profiles.size === 0 ? null : Date.UTC(2026, 10, 21),
        generation: 'a generation',
      };
    },
    async *exportLeads() {
      yield* [...keeper.profiles.values()].sort(compareLeads);
    },
    forget: async (usernames) => {
      if (keeper.isBusy) throw new LeadIndexError('busy', 'Another import is under way.');
      let removed = 0;
      for (const key of usernames.map(usernameKey)) {
        forgotten.add(key);
        if (keeper.profiles.delete(key)) removed += 1;
      }
      return { removed };
    },
    remember: async (usernames) => ({
      restored: usernames.map(usernameKey).filter((key) => forgotten.delete(key)).length,
    }),
    findForgotten: async (usernames) =>
      new Set(usernames.filter((username) => forgotten.has(usernameKey(username)))),
    sweep: async () => {},
    close: async () => {
      keeper.closed += 1;
    },
  };
  return keeper;
};
