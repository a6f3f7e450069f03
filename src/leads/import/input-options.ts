import type { Json } from '../../kit/json.ts';
import type { LeadDefaults } from '../lead-fields.ts';
import type { LeadInput } from '../lead-keeper.ts';
import type { Lead } from '../lead-source.ts';

export type InputFormat = 'csv' | 'jsonl' | 'parquet';

/**
 * Where fields come from, in place of what the names of the columns say. A column's name, without case; `#3` for the
 * third column of a CSV file; `/owner/username` (a JSON Pointer) for what lies within an object; '' to leave the field out.
 */
export type ColumnMap = Partial<Record<keyof Lead, string>>;

export interface RejectedRow {
  /** As it was given; `-` for standard input. */
  file: string;
  /** Of the row's beginning: the physical line, the first being 1; in Parquet the row, the first being 1. */
  line: number;
  /** One sentence. */
  problem: string;
  /** The row as it stands in the file, as JSON when that is Parquet; at most `longestRowShown` characters. */
  row: string;
}

export const longestRowShown = 4000;

export interface LeadInputOptions {
  /** Read one after the other. `-` is standard input. */
  files: readonly string[];
  /** By default what a name says (`.csv`, `.jsonl.gz`), else what the first bytes say. */
  format?: InputFormat;
  columns?: ColumnMap;
  /** For rows that lack a required field; without one for it they are refused. */
  defaults?: LeadDefaults;
  /** Of CSV: one character; by default the one of `,` `;` tab `|` that the header has most of. */
  delimiter?: string;
  /** False for CSV whose first line is a row; `columns` then says `#1`, `#2`, ... Default true. */
  hasHeader?: boolean;
  /** Told of each refused row before the batch it belongs to is handed out; what it throws ends the reading. */
  onRejected?: (rejected: RejectedRow) => void | Promise<void>;
  /** Told once a file of columns (fifty at most) that no field is read from. */
  onUnusedColumns?: (unused: { file: string; columns: readonly string[] }) => void;
  /** In place of the process's, for `-`. */
  stdin?: NodeJS.ReadableStream;
}

export interface InputProgress {
  /** Read so far, as they lie on the disk: of a compressed file its compressed bytes. */
  bytes: number;
  /** Of all files; null with standard input. */
  totalBytes: number | null;
  /** Rows looked at, refused ones included, those before the position that was gone on from included. */
  rows: number;
  /** Rows refused of them. */
  rejected: number;
}

/** A `LeadInput` of files. Its `read` rejects with LeadInputError when a file cannot be read on. */
export interface FileLeadInput extends LeadInput {
  /** `progress` then tells of the whole input. */
  resumeEnd(position: Json): void;
  progress(): InputProgress;
}
