import { readFileSync } from 'node:fs';
import { checkLead } from '../../../src/leads/query/check-lead.ts';
import type { Json } from '../../../src/kit/json.ts';
import type { FileLeadInput, LeadInputOptions } from '../../../src/leads/import/input-options.ts';
import { LeadInputError } from '../../../src/leads/import/lead-input-error.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';

const rowsInBatch = 2;

/** Files of JSON Lines in small batches, for commands that are tested without the readers of files. */
export const openLineInput = async ({ files, onRejected }: LeadInputOptions): Promise<FileLeadInput> => {
  let rows = 0;
  let rejected = 0;
  const linesOf = (file: string): { file: string; line: number; row: string }[] => {
    try {
      const lines = readFileSync(file, 'utf8').trim().split('\n');
      return lines.map((row, index) => ({ file, line: index + 1, row }));
    } catch (cause) {
      throw new LeadInputError(`${file} cannot be read.`, { cause });
    }
  };
  const goOn = (position: Json): void => {
    const before = typeof position === 'object' && !Array.isArray(position) ? position : null;
    rows = Number(before?.rows ?? 0);
    rejected = Number(before?.rejected ?? 0);
  };
  return {
    key: files.join(' '),
    progress: () => ({ bytes: rows, totalBytes: null, rows, rejected }),
    resumeEnd: goOn,
    async *read({ after, signal }) {
      goOn(after);
      const left = files.flatMap(linesOf).slice(rows);
      for (let from = 0; from < left.length; from += rowsInBatch) {
        signal.throwIfAborted();
        const leads: Lead[] = [];
        for (const { file, line, row } of left.slice(from, from + rowsInBatch)) {
          const checked = checkLead(JSON.parse(row));
          rows += 1;
          if ('lead' in checked) leads.push(checked.lead);
          else {
            rejected += 1;
            await onRejected?.({ file, line, row, problem: checked.problem });
          }
        }
        yield { leads, position: { rows, rejected } };
      }
    },
  };
};
