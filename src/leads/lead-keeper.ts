import type { Json } from '../kit/json.ts';
import type { Lead } from './lead-source.ts';

/** Some rows of an input, checked, in its order. */
export interface LeadBatch {
  leads: Lead[];
  /** Where the next batch begins, for `LeadInput.read`; plain JSON, for the input alone to understand. */
  position: Json;
}

/** Profiles from outside, read in batches of at most a few thousand. */
export interface LeadInput {
  /**
   * Equal for equal inputs (files, sizes, dates, mapping), so that an import that was killed goes on only with what
   * it began with; null for what cannot be read twice, as standard input.
   */
  key: string | null;
  /** From the beginning, or from a batch's `position` on. Rejects with `signal`'s reason when it aborts. */
  read(options: { after: Json | null; signal: AbortSignal }): AsyncIterable<LeadBatch>;
  /**
   * Called in place of `read` when an import goes on behind the last batch, whose `position` it was. What it throws ends
   * the import before anything is taken over, as what `read` throws does.
   */
  resumeEnd?(position: Json): void;
  /**
   * Whether what `read` or `resumeEnd` has thrown refuses the rows for good: the import is not to be gone on with, and
   * nothing of it is kept.
   */
  isRefused?(): boolean;
}

export interface ImportRequest {
  input: LeadInput;
  /** `upsert` keeps the profiles that the input does not name; `replace` drops them. */
  mode: 'upsert' | 'replace';
  onProgress?: (progress: ImportProgress) => void;
  signal: AbortSignal;
}

/** How far an import is, told a few times a second at most. */
export interface ImportProgress {
  phase: 'reading' | 'indexing';
  /** Rows read or profiles indexed so far. */
  done: number;
  /** Profiles to index; null while it is not known. */
  total: number | null;
  /** Whether an earlier import of the same input, which did not end, is gone on with. */
  isResumed: boolean;
}

export interface ImportOutcome {
  /** Rows taken from the input, those of an import gone on with included. */
  rows: number;
  /** Profiles that were not there before. */
  added: number;
  updated: number;
  /** Rows that a later row of the same input replaced. */
  repeated: number;
  /** Rows left out because the person asked to be forgotten. */
  forgotten: number;
  /** All profiles, afterwards. */
  profiles: number;
}

export interface LeadStats {
  profiles: number;
  /** Whether all profiles are generated and fictional. */
  synthetic: boolean;
  /** People who asked to be forgotten. */
  forgotten: number;
  /** On the disk, everything together. */
  bytes: number;
  /** Milliseconds since 1970; null when nothing was ever imported. */
  updatedAt: number | null;
  /** An import that did not end and can be gone on with. */
  unfinished: { rows: number; startedAt: number } | null;
}

/**
 * The keeping of profiles that are searched here: what the operator's commands use, beside running gateways, which
 * see each change within seconds and never half of one. Errors are LeadKeeperError.
 */
export interface LeadKeeper {
  /**
   * Takes the profiles of `request.input` over. Searches see all of them at once, at its end. Killed at any moment, the
   * same request made again goes on behind the last stored batch, and what was searched before is untouched. An import
   * that did not end is given up for another one when this has given its first profile.
   */
  importLeads(request: ImportRequest): Promise<ImportOutcome>;
  stats(): Promise<LeadStats>;
  /** Every profile, in the order of results, as they stood at the beginning. Fictional profiles are none. */
  exportLeads(options: { signal: AbortSignal }): AsyncIterable<Lead>;
  /**
   * Forgets people for good: no search finds them from now on, their data is erased, and no import brings them back.
   * Only a digest of each name is kept for that. `removed` is how many of them had a profile.
   */
  forget(usernames: readonly string[], options: { signal: AbortSignal }): Promise<{ removed: number }>;
  /** Lets these people be imported again. `restored` is how many of them had been forgotten. */
  remember(usernames: readonly string[]): Promise<{ restored: number }>;
  close(): Promise<void>;
}

export type LeadKeeperProblem =
  /** Another import or change is under way. */
  | 'busy'
  /** The index or the list of forgotten people cannot be read; the message tells what helps. */
  | 'damaged'
  | 'failed';

export class LeadKeeperError extends Error {
  readonly problem: LeadKeeperProblem;

  constructor(problem: LeadKeeperProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LeadKeeperError';
    this.problem = problem;
  }
}
