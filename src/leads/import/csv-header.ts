import { LeadInputError } from './lead-input-error.ts';
import type { RowOptions } from './row-batch.ts';
import { scanCsv } from './scan-csv.ts';

export interface CsvHeader {
  names: string[];
  delimiter: string;
  /** The index in `text` after the header. */
  end: number;
  /** The number of its lines. */
  breaks: number;
}

/** Blank lines before the first row, and the line with which spreadsheets declare the delimiter. */
const beforeRows = /^[\r\n]*(?:("?)sep=([^"\r\n])\1(?:\r?\n[\r\n]*|$))?/i;

/**
 * Reads names and delimiter from the first row of `text`. Without a header line the names are `#1`, `#2` and so on, and
 * the row is still to be read. Returns null if `text` does not hold the whole row. Throws LeadInputError if it cannot
 * be a header.
 */
export const readCsvHeader = (
  text: string,
  { file, delimiter, hasHeader = true }: RowOptions,
): CsvHeader | null => {
  const [begin = '', , written] = beforeRows.exec(text) ?? [];
  if (begin.length === text.length) return null;
  const separator = delimiter ?? written ?? likelyDelimiter(text.slice(begin.length));
  const row = scanCsv(text, separator)(begin.length);
  if (row.state === 'open') return null;
  if (row.state === 'wrong')
    throw new LeadInputError(
      `${file} cannot be read as CSV: text follows a closing quote in its first row. Check the file, or name its delimiter.`,
    );
  if (row.cells.some((cell) => cell.includes('\r')))
    throw new LeadInputError(`${file} ends its lines with CR alone. Convert it: tr '\\r' '\\n' < OLD > NEW`);
  const breaks = begin.split('\n').length - 1;
  if (!hasHeader) {
    const names = row.cells.map((_, index) => `#${index + 1}`);
    return { names, delimiter: separator, end: begin.length, breaks };
  }
  const names = row.cells.map((cell) => cell.trim());
  return { names, delimiter: separator, end: row.end, breaks: breaks + row.breaks };
};

const delimiters = [',', ';', '\t', '|'] as const;

/** Returns the candidate that occurs most often in the first row, outside quotes. */
const likelyDelimiter = (text: string): string => {
  const [row = ''] = text.replace(/"[^"]*(?:"|$)/g, '').split('\n', 1);
  const parts = (delimiter: string): number => row.split(delimiter).length;
  return delimiters.reduce<string>((best, each) => (parts(each) > parts(best) ? each : best), delimiters[0]);
};
