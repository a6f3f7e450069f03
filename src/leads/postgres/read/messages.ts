import type { ForgottenCopy } from '../forgotten-copy.ts';
import type { LeadsDatabase } from '../leads-database.ts';

/** What a search thread is started with. */
export interface ReadWorkerData {
  database: LeadsDatabase;
  /** Searches at once, each over a connection of its own. */
  connections: number;
  statementTimeoutMs: number;
  lookEveryMs: number;
}

/** The content of the database, as far as it is known. */
export interface ServedLeads {
  /** Whether it answered when it was asked last. */
  isAnswering: boolean;
  /** Whether profiles were ever imported. */
  isFilled: boolean;
  profiles: number;
  /** Empty as long as nothing is known. */
  revision: string;
  /** The version of the folding that made the terms (fold-text.ts). */
  folding: string;
}

export type ReadEvent =
  /** Sent whenever it has changed; ahead of the first answer from other profiles. */
  | { kind: 'serving'; served: ServedLeads }
  /** Sent at first, and whenever it has changed. */
  | { kind: 'forgotten'; forgotten: ForgottenCopy }
  /** Something for the log. */
  | { kind: 'unanswering' | 'connection-broken'; cause: string };

/** Lead[] as JSON, which costs the thread that takes it less than objects; or why the database cancelled the search. */
export type FoundLeads = { leads: string } | { lateCause: string };
