import { pause } from '../../../kit/repeat.ts';
import type { Lead, LeadQuery } from '../../lead-source.ts';
import { connectToLeads, createLeadsPool, type LeadsDatabase } from '../leads-database.ts';
import { loadForgotten, type ForgottenCopy } from '../forgotten-copy.ts';
import { loadSnapshot, readRevisions, type Queryable, type Snapshot } from '../load-snapshot.ts';
import { migrateLeads } from '../migrate-leads.ts';
import type { ReadWorkerData, ServedLeads } from './messages.ts';
import { createPartReader, OutdatedSnapshotError } from './read-parts.ts';
import { createRecentPlaces } from './recent-places.ts';
import { rememberPlaces } from './remember-places.ts';
import { searchParts } from './search-parts.ts';
import { withSearchClient } from './search-client.ts';

export interface FollowDatabaseInput extends ReadWorkerData {
  onServing: (served: ServedLeads) => void;
  /** Told of the list of forgotten people at first, and whenever it is another. */
  onForgotten: (forgotten: ForgottenCopy) => void;
  /** Told when the database goes, and again while it is away when the cause is another one. */
  onUnanswering: (cause: unknown) => void;
  onConnectionBroken: (cause: Error) => void;
}

export interface FollowedDatabase {
  /** Rejects with what PostgreSQL said, or with the reason of `signal`. */
  search(query: LeadQuery, signal: AbortSignal): Promise<Lead[]>;
  close(): Promise<void>;
}

const migrationTimeoutMs = 60_000;
/** A search that meets a change is made again; changes are seconds apart at least. */
const attempts = 3;
/** For the lists of the conditions used last: at five million profiles, of some hundred frequent words and filters. */
const recentBytes = 48 * 2 ** 20;
/** Of one absence of the database. */
const mostCauses = 10;

/**
 * Searches in what stands in the database, whose changes and absences are followed in the background. Before the first
 * look nothing is known of it.
 */
export const followDatabase = ({
  database,
  connections,
  statementTimeoutMs,
  lookEveryMs,
  onServing,
  onForgotten,
  onUnanswering,
  onConnectionBroken,
}: FollowDatabaseInput): FollowedDatabase => {
  // One more, so that no search keeps the looks waiting.
  const size = connections + 1;
  const pool = createLeadsPool(database, { size, statementTimeoutMs, onBroken: onConnectionBroken });
  const closing = new AbortController();
  const recent = createRecentPlaces(recentBytes);
  /** What searches answer from; null before the first look, and while it must be loaded anew. */
  let known: Snapshot | null = null;
  /** The last one there was: what is told while the database is away. */
  let last: Snapshot | null = null;
  let refreshing: Promise<Snapshot> | null = null;
  /** Of the list of forgotten people that was told last; null while it must be told anew. */
  let peopleRevision: string | null = null;
  let isMigrated = false;
  /** Null before the first look. */
  let isAnswering: boolean | null = null;
  const toldCauses = new Set<string>();

  const tell = (): void =>
    onServing({
      isAnswering: isAnswering === true,
      isFilled: last !== null && last.updatedAt !== null,
      profiles: last?.profiles ?? 0,
      revision: last?.revision ?? '',
      folding: last?.folding ?? '',
    });
  const tellOfAnswer = (): void => {
    isAnswering = true;
    toldCauses.clear();
    tell();
  };
  const load = async (): Promise<Snapshot> => {
    const snapshot = await loadSnapshot(pool);
    if (snapshot.revision === known?.revision) return known;
    recent.retain(snapshot.parts);
    known = snapshot;
    last = snapshot;
    tellOfAnswer();
    return snapshot;
  };
  /** One at a time, for all who ask: a snapshot that comes late would take the place of a newer one. */
  const refresh = (): Promise<Snapshot> => {
    refreshing ??= load().finally(() => {
      refreshing = null;
    });
    return refreshing;
  };
  const look = async (): Promise<void> => {
    try {
      if (!isMigrated) {
        await migrate(database);
        isMigrated = true;
      }
      const revisions = await readRevisions(pool);
      if (revisions.people !== peopleRevision) {
        const forgotten = await loadForgotten(pool);
        peopleRevision = forgotten.revision;
        onForgotten(forgotten);
      }
      if (revisions.leads !== known?.revision) await refresh();
      if (isAnswering === true) return;
      tellOfAnswer();
    } catch (error) {
      if (closing.signal.aborted) return;
      // Another database may be there when it answers again.
      isMigrated = false;
      known = null;
      peopleRevision = null;
      const cause = String(error);
      if (!toldCauses.has(cause) && toldCauses.size < mostCauses) {
        toldCauses.add(cause);
        onUnanswering(error);
      }
      if (isAnswering === false) return;
      isAnswering = false;
      tell();
    }
  };
  const keepLooking = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await look();
      await pause(lookEveryMs, closing.signal);
    }
  };
  const looking = keepLooking();

  const searchLatest = async (
    connection: Queryable,
    { query, signal }: { query: LeadQuery; signal: AbortSignal },
  ): Promise<Lead[]> => {
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      const snapshot = known !== null && attempt === 1 ? known : await refresh();
      const reader = rememberPlaces(createPartReader(connection, { snapshot, signal }), recent);
      try {
        return await searchParts(query, { parts: snapshot.parts, reader });
      } catch (error) {
        if (!isOutdated(error) || attempt === attempts) throw error;
      }
    }
  };

  return {
    search: (query, signal) =>
      withSearchClient({ pool, database, signal }, (client) => searchLatest(client, { query, signal })),
    close: async () => {
      closing.abort();
      await looking;
      if (!pool.ending) await pool.end();
    },
  };
};

const migrate = async (database: LeadsDatabase): Promise<void> => {
  const client = await connectToLeads(database, { statementTimeoutMs: migrationTimeoutMs });
  try {
    await migrateLeads(client, database.schema);
  } finally {
    await client.end();
  }
};

const undefinedTable = '42P01';

/** Also when the tables of the generation went. */
const isOutdated = (error: unknown): boolean =>
  error instanceof OutdatedSnapshotError ||
  (error instanceof Error && 'code' in error && error.code === undefinedTable);
