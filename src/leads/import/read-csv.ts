import { LeadInputError } from './input-options.ts';
import { fieldsOf, mapColumns } from './map-columns.ts';
import { createBatchBuilder, type RowBatch, type RowOptions } from './row-batch.ts';
import { scanCsv, type CsvRow } from './scan-csv.ts';
import { maxLineBytes, notUtf8Mark, notUtf8Problem, textBlocks, tooLongProblem } from './text-blocks.ts';

/** Limit for a row of several lines. Otherwise an unclosed quote would take the rest of the file. */
const maxRowCharacters = maxLineBytes;

/**
 * Reads the rows of a CSV file from its unpacked bytes. An invalid row (an unclosed quote, text after a closing quote,
 * another number of columns than the header) is rejected. Reading goes on with the line after the row's first line, so
 * a stray quote does not take later rows with it.
 */
export async function* readCsv(chunks: AsyncIterable<Buffer>, options: RowOptions): AsyncGenerator<RowBatch> {
  const { file } = options;
  let rows: ReturnType<typeof createCsvRows> | null = null;
  let unread = '';
  for await (const { text, isCut } of textBlocks(chunks)) {
    if (rows !== null) {
      yield* isCut ? rows.skipLine(text) : rows.read(text);
      continue;
    }
    if (isCut)
      throw new LeadInputError(`${file} is not CSV: its first line is longer than ${maxLineBytes} bytes.`);
    unread += text;
    const header = readHeader(unread, options);
    if (header === null) continue;
    rows = createCsvRows(header, options);
    yield* rows.read(unread.slice(header.end));
  }
  if (rows === null)
    throw new LeadInputError(
      unread.includes('"')
        ? `${file} has an unclosed quote in its header.`
        : `${file} is empty; it does not even have a header line.`,
    );
  yield* rows.end();
}

/** Returns null if the header continues in the next block. */
const readHeader = (text: string, options: RowOptions): CsvHeader | null => {
  const { file } = options;
  const header = readCsvHeader(text, options);
  if (header === null && text.length > maxRowCharacters)
    throw new LeadInputError(`${file} has an unclosed quote in its header.`);
  if (header?.names.some((name) => name.includes(notUtf8Mark)) === true)
    throw new LeadInputError(`${file}, line ${header.breaks}: ${notUtf8Problem}`);
  return header;
};

const createCsvRows = ({ names, delimiter, breaks }: CsvHeader, options: RowOptions) => {
  const { hasHeader = true, onUnusedColumns } = options;
  const missingHint = hasHeader ? ' If the first line is already a row, say that there is no header.' : '';
  const { indexes, unused } = mapColumns(names, { ...options, missingHint });
  if (unused.length > 0) onUnusedColumns(unused);
  const batch = createBatchBuilder(options);
  // An empty cell may be an empty name or a missing one.
  const withoutName = { ...indexes, full_name: -1 };
  const cellIndexes = (cells: readonly string[]): typeof indexes =>
    cells[indexes.full_name]?.trim() === '' ? withoutName : indexes;
  /** The beginning of a row that continues in the next block. */
  let open = '';
  /** The next row's. */
  let line = breaks + 1;

  function* read(block: string, isLast = false): Generator<RowBatch> {
    const text = open + block;
    open = '';
    const scan = scanCsv(text, delimiter);
    const hasMarks = text.includes(notUtf8Mark);
    for (let at = 0; at < text.length;) {
      const start = at;
      const row = scan(start);
      if (row.state === 'open' && !isLast && text.length - start <= maxRowCharacters) {
        open = text.slice(start);
        return;
      }
      const first = line;
      const problem = problemOf(row, names.length);
      if (row.state === 'row' && (problem === null || row.breaks === 1)) {
        at = row.end;
        line += row.breaks;
      } else {
        const next = text.indexOf('\n', start) + 1;
        at = next === 0 ? text.length : next;
        line += 1;
      }
      const end = at;
      const show = (): string => text.slice(start, end).replace(/\r?\n$/, '');
      if (hasMarks && show().includes(notUtf8Mark)) batch.reject(notUtf8Problem, first, show);
      else if (problem !== null) {
        if (row.state !== 'row' || !isBlank(row.cells)) batch.reject(problem, first, show);
      } else if (row.state === 'row') batch.add(fieldsOf(row.cells, cellIndexes(row.cells)), first, show);
      if (batch.isFull()) yield batch.take();
    }
  }

  return {
    /** Yields the rows that end in `block`, the next block in order. */
    read,
    /** Rejects the next line, which begins with `text`. */
    *skipLine(text: string): Generator<RowBatch> {
      yield* read('', true);
      batch.reject(tooLongProblem, line, () => text);
      line += 1;
      if (batch.isFull()) yield batch.take();
    },
    /** Yields the rest when no block follows. */
    *end(): Generator<RowBatch> {
      yield* read('', true);
      yield* batch.rest();
    },
  };
};

const problemOf = (row: CsvRow, columns: number): string | null => {
  switch (row.state) {
    case 'open':
      return `A quote in this row is not closed within ${maxRowCharacters} characters.`;
    case 'wrong':
      return 'Text follows a closing quote. Write a quote inside a quoted cell twice.';
    case 'row':
      return row.cells.length === columns
        ? null
        : `The row has ${row.cells.length} columns, the header has ${columns}.`;
  }
};

const isBlank = (cells: readonly string[]): boolean => cells.length === 1 && cells[0]?.trim() === '';

interface CsvHeader {
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
const readCsvHeader = (text: string, { file, delimiter, hasHeader = true }: RowOptions): CsvHeader | null => {
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
