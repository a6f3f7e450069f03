import type { Lead } from '../lead-source.ts';
import { checkLead } from '../query/check-lead.ts';
import { longestRowShown, type LeadInputOptions, type RejectedRow } from './input-options.ts';

export interface RowBatch {
  leads: Lead[];
  rejected: Omit<RejectedRow, 'file'>[];
  /** The unknown countries of rows among `leads`, for messages. */
  unknownCountries: string[];
  /** Lines without a row. */
  blank: number;
}

/** How the rows of one file are read. */
export interface RowOptions extends Pick<
  LeadInputOptions,
  'columns' | 'defaults' | 'delimiter' | 'hasHeader'
> {
  file: string;
  /** Called with the columns that no field uses. */
  onUnusedColumns: (columns: readonly string[]) => void;
}

const maxRows = 1000;

const emptyBatch = (): RowBatch => ({ leads: [], rejected: [], unknownCountries: [], blank: 0 });

/** Collects rows up to the size of a batch. `line` and `row` are for the report of a rejected row. */
export const createBatchBuilder = ({ defaults }: Pick<RowOptions, 'defaults'>) => {
  let batch = emptyBatch();
  const reject = (problem: string, line: number, row: () => string): void => {
    // A copy: a part of a string keeps the whole string alive.
    const shown = Buffer.from(row().slice(0, longestRowShown)).toString();
    batch.rejected.push({ line, problem, row: shown });
  };
  const take = (): RowBatch => {
    const taken = batch;
    batch = emptyBatch();
    return taken;
  };
  const rows = (): number => batch.leads.length + batch.rejected.length;
  return {
    add: (fields: Record<string, unknown>, line: number, row: () => string): void => {
      const checked = checkLead(fields, defaults);
      if ('problem' in checked) {
        const hint =
          checked.lacks === undefined ? '' : ` Set a value for such rows: default ${checked.lacks}=VALUE.`;
        return reject(`${checked.problem}${hint}`, line, row);
      }
      // A copy, too: many profiles wait until they are stored, and rows may be long.
      batch.leads.push(structuredClone(checked.lead));
      if (checked.unknownCountry !== undefined) batch.unknownCountries.push(checked.unknownCountry);
    },
    reject,
    addBlank: (): void => {
      batch.blank += 1;
    },
    isFull: (): boolean => rows() >= maxRows || batch.blank >= maxRows,
    take,
    /** Yields the rows that are left at the end. */
    *rest(): Generator<RowBatch> {
      if (rows() + batch.blank > 0) yield take();
    },
  };
};
