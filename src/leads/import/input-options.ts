import type { Readable } from 'node:stream';
import { AppError, KnownFault } from '../../kit/errors.ts';
import type { LeadDefaults } from '../lead-fields.ts';
import type { LeadInput } from '../lead-index.ts';
import type { Lead } from '../lead-source.ts';
import type { RejectedLimit } from './rejected-limit.ts';

export type InputFormat = 'csv' | 'jsonl' | 'parquet';

/**
 * Overrides the source of fields. A value is a column name without case, `#3` for the third column of a CSV file,
 * `/owner/username` (a JSON Pointer) for a value within an object, or '' to leave the field out.
 */
export type ColumnMap = Partial<Record<keyof Lead, string>>;

export interface RejectedRow {
  /** As given by the caller; `-` is standard input. */
  file: string;
  /** The first physical line of the row, from 1; in Parquet the row number, from 1. */
  line: number;
  /** One sentence. */
  problem: string;
  /** The row as in the file, or as JSON for Parquet; at most `longestRowShown` characters. */
  row: string;
}

export const longestRowShown = 4000;

export interface LeadInputOptions {
  /** Read in this order. `-` is standard input. */
  files: readonly string[];
  /** Default: by the file name (`.csv`, `.jsonl.gz`), else by the first bytes. */
  format?: InputFormat;
  columns?: ColumnMap;
  /** For rows without a required field. Rows without a default are rejected. */
  defaults?: LeadDefaults;
  /** For CSV: one character. Default: the one of `,` `;` tab `|` that occurs most often in the header. */
  delimiter?: string;
  /** False for CSV without a header line; `columns` then uses `#1`, `#2`, ... Default true. */
  hasHeader?: boolean;
  /** Nothing is imported above it. Default: 1% of the rows. */
  maxRejected?: RejectedLimit;
  /** Called with rejected rows before the valid ones around them are returned. Its error ends the reading. */
  onRejected?: (rejected: readonly RejectedRow[]) => void;
  /** Called once per file with the columns (at most fifty) that no field uses. */
  onUnusedColumns?: (unused: { file: string; columns: readonly string[] }) => void;
  /** Replaces the process's stdin for `-`. */
  stdin?: Readable;
}

export interface InputProgress {
  /** Bytes read so far, compressed if the file is. */
  bytes: number;
  /** The bytes of all files; null if one is standard input. */
  totalBytes: number | null;
  /** Rows read, including rejected rows. */
  rows: number;
  /** Rejected rows among them. */
  rejected: number;
  /** Rows whose country is not known and was left out, and the first of these values, as they are shown. */
  unknownCountries: { rows: number; first: readonly string[] };
}

/**
 * A `LeadInput` that reads files. `read` rejects with LeadInputError if a file cannot be read further, and with AppError
 * `too_many_rejected` or `nothing_imported` for its rows.
 */
export interface FileLeadInput extends LeadInput {
  progress(): InputProgress;
}

/** An input cannot be read further. The message is one sentence with the file, the line if known, and what to do. */
export class LeadInputError extends KnownFault {
  override readonly name = 'LeadInputError';

  toAppError(): AppError {
    return new AppError('input_failed', this.message, { cause: this.cause });
  }
}
