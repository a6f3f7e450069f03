import type { LeadDefaults } from '../lead-fields.ts';
import { checkLead } from '../query/check-lead.ts';
import type { Lead } from '../lead-source.ts';
import { longestRowShown, type ColumnMap, type RejectedRow } from './input-options.ts';

export interface RowBatch {
  leads: Lead[];
  rejected: Omit<RejectedRow, 'file'>[];
}

/** Options that the readers of all formats share. */
export interface RowOptions {
  file: string;
  /** The number of rows that an earlier import has read: they are left out. */
  skip: number;
  columns?: ColumnMap;
  defaults?: LeadDefaults;
  /** Called with the columns that no field uses. */
  onUnusedColumns: (columns: readonly string[]) => void;
}

const maxRows = 1000;

/** Collects rows up to the size of a batch. `line` and `row` are for the report of a rejected row. */
export const createBatchBuilder = ({ skip, defaults }: Pick<RowOptions, 'skip' | 'defaults'>) => {
  let batch: RowBatch = { leads: [], rejected: [] };
  let left = skip;
  const rows = (): number => batch.leads.length + batch.rejected.length;
  const reject = (problem: string, line: number, row: () => string): void => {
    // Copies: a part of a string keeps the whole string alive.
    const shown = Buffer.from(row().slice(0, longestRowShown)).toString();
    batch.rejected.push({ line, problem, row: shown });
  };
  return {
    /** Returns true for the rows to skip. Call it once for each row. */
    skips: (): boolean => left > 0 && left-- > 0,
    add: (fields: Record<string, unknown>, line: number, row: () => string): void => {
      const checked = checkLead(fields, defaults);
      if ('lead' in checked) batch.leads.push(checked.lead);
      else {
        const hint =
          checked.lacks === undefined ? '' : ` Set a value for such rows: default ${checked.lacks}=VALUE.`;
        reject(`${checked.problem}${hint}`, line, row);
      }
    },
    reject,
    isFull: (): boolean => rows() >= maxRows,
    isEmpty: (): boolean => rows() === 0,
    take: (): RowBatch => {
      const taken = batch;
      batch = { leads: [], rejected: [] };
      return taken;
    },
  };
};
