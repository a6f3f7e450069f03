import type { LeadQuery } from '../../lead-source.ts';
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

export type ReadRequest =
  | { kind: 'search'; id: number; query: LeadQuery }
  /** Nobody waits for this search any more; it is answered all the same, soon. */
  | { kind: 'abandon'; id: number }
  /** The thread ends by itself. */
  | { kind: 'close' };

/** What the database holds, as far as is known. */
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

export type ReadMessage =
  /** Whenever it is other than before; ahead of the first answer from other profiles. */
  | { kind: 'serving'; served: ServedLeads }
  /** At first, and whenever it is another. */
  | { kind: 'forgotten'; forgotten: ForgottenCopy }
  /** Something for the log. */
  | { kind: 'unanswering' | 'connection-broken'; cause: string }
  /** `leads` is Lead[] as JSON, which costs the thread that takes it less than objects. */
  | { kind: 'found'; id: number; leads: string }
  | { kind: 'failed'; id: number; isLate: boolean; cause: string };
