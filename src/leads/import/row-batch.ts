import type { LeadDefaults } from '../lead-fields.ts';
import { checkLead } from '../query/check-lead.ts';
import type { Lead } from '../lead-source.ts';
import { longestRowShown, type RejectedRow } from './input-options.ts';

/** Some rows of one file. `P` is the place behind the last of them, from which the same reader goes on. */
export interface RowBatch<P> {
  leads: Lead[];
  rejected: Omit<RejectedRow, 'file'>[];
  next: P;
}

const mostRows = 1000;
/** The text of leads may keep all of the text alive that they were cut from. */
const mostBytes = 8 * 1024 * 1024;

/** Takes rows up to a batch's size. `line` and `row` are for the report of a refused row. */
export interface BatchBuilder<P> {
  add(fields: Record<string, unknown>, line: number, row: () => string): void;
  reject(problem: string, line: number, row: () => string): void;
  isFull(): boolean;
  /** Whether so much was read up to `byte` that what there is of a batch should go. */
  isFullAt(byte: number): boolean;
  isEmpty(): boolean;
  /** The batch, and begins the next one at `next`. */
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
    // A copy: a part of a string keeps all of it alive.
    const shown = Buffer.from(row().slice(0, longestRowShown)).toString();
    rejected.push({ line, problem, row: shown });
  };
  return {
    add(fields, line, row) {
      const checked = checkLead(fields, defaults);
      if ('lead' in checked) leads.push(checked.lead);
      else if (checked.lacks === undefined) reject(checked.problem, line, row);
      else reject(`${checked.problem} --default ${checked.lacks}=VALUE names one for such rows.`, line, row);
    },
    reject,
    isFull: () => rows() >= mostRows,
    isFullAt: (byte) => rows() > 0 && byte - beginByte >= mostBytes,
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
