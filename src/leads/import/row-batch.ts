import type { LeadDefaults } from '../lead-fields.ts';
import { checkLead } from '../query/check-lead.ts';
import type { Lead } from '../lead-source.ts';
import { longestRowShown, type RejectedRow } from './input-options.ts';

/** Some rows of one file. `P` is the position after the last one, from which the same reader can resume. */
export interface RowBatch<P> {
  leads: Lead[];
  rejected: Omit<RejectedRow, 'file'>[];
  next: P;
}

const maxRows = 1000;
/** Limits memory: the text of a lead may keep the whole source text alive. */
const maxBytes = 8 * 1024 * 1024;

/** Collects rows up to the size of a batch. `line` and `row` are for the report of a rejected row. */
export interface BatchBuilder<P> {
  add(fields: Record<string, unknown>, line: number, row: () => string): void;
  reject(problem: string, line: number, row: () => string): void;
  isFull(): boolean;
  /** Returns true if the batch should be returned after reading up to `byte`. */
  isFullAt(byte: number): boolean;
  isEmpty(): boolean;
  /** Returns the batch and begins the next one at `next`. */
  take(next: P): RowBatch<P>;
}

const byteOf = (place: { byte: number } | { row: number }): number => ('byte' in place ? place.byte : 0);

export const createBatchBuilder = <P extends { byte: number } | { row: number }>(
  begin: P,
  defaults?: LeadDefaults,
): BatchBuilder<P> => {
  let leads: Lead[] = [];
  let rejected: Omit<RejectedRow, 'file'>[] = [];
  let beginByte = byteOf(begin);
  const rows = (): number => leads.length + rejected.length;
  const reject: BatchBuilder<P>['reject'] = (problem, line, row) => {
    // Copies: a part of a string keeps the whole string alive.
    const shown = Buffer.from(row().slice(0, longestRowShown)).toString();
    rejected.push({ line, problem, row: shown });
  };
  return {
    add(fields, line, row) {
      const checked = checkLead(fields, defaults);
      if ('lead' in checked) leads.push(checked.lead);
      else if (checked.lacks === undefined) reject(checked.problem, line, row);
      else
        reject(
          `${checked.problem} Set a value for such rows with --default ${checked.lacks}=VALUE.`,
          line,
          row,
        );
    },
    reject,
    isFull: () => rows() >= maxRows,
    isFullAt: (byte) => rows() > 0 && byte - beginByte >= maxBytes,
    isEmpty: () => rows() === 0,
    take(next) {
      const batch = { leads, rejected, next };
      leads = [];
      rejected = [];
      beginByte = byteOf(next);
      return batch;
    },
  };
};
