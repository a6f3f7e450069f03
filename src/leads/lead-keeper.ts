import { AppError, KnownFault } from '../kit/errors.ts';
import type { Json } from '../kit/json.ts';
import type { Lead } from './lead-source.ts';

/** Checked rows of an input, in its order. */
export interface LeadBatch {
  leads: Lead[];
  /** Where the next batch begins, for `LeadInput.read`. Plain JSON that only the input understands. */
  position: Json;
}

/** Profiles to import, read in batches of at most a few thousand. */
export interface LeadInput {
  /**
   * Equal for equal inputs (files, sizes, dates, mapping), so that an import is resumed only with the input that it began
   * with. Null for an input that cannot be read twice, such as standard input.
   */
  key: string | null;
  /** Reads from the beginning, or from a batch's `position`. Rejects with the reason of `signal`. */
  read(options: { after: Json | null; signal: AbortSignal }): AsyncIterable<LeadBatch>;
  /**
   * Called in place of `read` when a resumed import has stored its last batch, which ended at `position`. An error ends
   * the import before anything becomes visible, like an error of `read`.
   */
  resumeEnd?(position: Json): void;
  /**
   * Tells whether the error of `read` or `resumeEnd` refuses the rows for good: the import cannot be resumed, and
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

/** `fetching` and `publishing` copy the profiles that a fleet shares. */
export type ImportPhase = 'fetching' | 'reading' | 'indexing' | 'publishing';

/** The progress of an import, reported a few times a second at most. */
export interface ImportProgress {
  phase: ImportPhase;
  /** Rows read, profiles indexed or bytes copied so far. */
  done: number;
  /** Profiles to index or bytes to copy; null while unknown. */
  total: number | null;
  /** Whether this resumes an unfinished import of the same input. */
  isResumed: boolean;
}

export interface ImportOutcome {
  /** Rows taken from the input, including those before the import was resumed. */
  rows: number;
  added: number;
  updated: number;
  /** Rows that a later row of the same input replaced. */
  repeated: number;
  /** Rows left out because the person asked to be forgotten. */
  forgotten: number;
  profiles: number;
}

export interface LeadStats {
  profiles: number;
  /** Whether all profiles are generated and fictional. */
  synthetic: boolean;
  forgotten: number;
  /** Size on the disk, all files together. */
  bytes: number;
  /** Milliseconds since 1970; null when nothing was ever imported. */
  updatedAt: number | null;
  /** An unfinished import that can be resumed. */
  unfinished: { rows: number; startedAt: number } | null;
  /** Another one with every change of the profiles; null without any. */
  generation: string | null;
}

/**
 * Changes the profiles that gateways search, for the operator's commands. Running gateways see each change within
 * seconds, and never half of one. Errors are LeadKeeperError.
 */
export interface LeadKeeper {
  /**
   * Imports the profiles of `request.input`. Searches see all of them at once, at the end. When the process is killed,
   * searches are unchanged, and the same request resumes after the last stored batch. An unfinished import is dropped
   * when an import of another input has read its first profile.
   */
  importLeads(request: ImportRequest): Promise<ImportOutcome>;
  stats(): Promise<LeadStats>;
  /** Returns every profile in the order of results, as of the call. Fictional profiles are left out. */
  exportLeads(options: { signal: AbortSignal }): AsyncIterable<Lead>;
  /**
   * Forgets people for good: no search finds them, their data is erased, and no import brings them back. A digest of
   * each name is kept for that. `removed` is how many of them had a profile.
   */
  forget(usernames: readonly string[], options: { signal: AbortSignal }): Promise<{ removed: number }>;
  /** Erases forgotten people who are still stored, as after a deletion that ended early. */
  sweep(): Promise<void>;
  /** Allows imports of these people again. `restored` is how many of them had been forgotten. */
  remember(usernames: readonly string[]): Promise<{ restored: number }>;
  close(): Promise<void>;
}

export type LeadKeeperProblem =
  /** Another import or change is under way. */
  | 'busy'
  /** The index or the list of forgotten people cannot be read. The message says what to do. */
  | 'damaged'
  | 'failed';

export class LeadKeeperError extends KnownFault {
  readonly problem: LeadKeeperProblem;

  constructor(problem: LeadKeeperProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LeadKeeperError';
    this.problem = problem;
  }

  /** The error of an input is the reason, whatever the import made of it. */
  toAppError(): AppError {
    const { cause, problem, message } = this;
    if (cause instanceof AppError) return cause;
    return cause instanceof KnownFault && !(cause instanceof LeadKeeperError)
      ? cause.toAppError()
      : new AppError(`leads_${problem}`, message, { cause: this });
  }
}
